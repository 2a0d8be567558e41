# Read by `conductor/start/conductor` and `conductor/cli/baton`, with the clone in $root, a bundle's name in $program, and what Node.js is
# told in $flags: becomes that bundle with the script's arguments. When a source has changed since, the bundles are made first.

fail() {
  echo "$program: $1" >&2
  exit 2
}

. "$root/conductor/bundle/sources.sh"

# -cnewer compares the change of the inode, which no tool can set: a source that is older than what it replaces counts, too.
# In a clone that was copied or restored all are newer, and the same.
is_stale() {
  [ -f "$folder/stamp" ] || return 0
  [ -n "$(sources -cnewer "$folder/stamp" -print -quit)" ] || return 1
  # where it can be written: as old as before the sources are read, so that the next start need not read them
  seen="$folder/stamp.$$"
  { cp "$folder/stamp" "$seen" && touch -d '1 second ago' "$seen"; } 2>/dev/null || seen=
  [ "$(digest)" = "$(cat "$folder/stamp")" ] || { rm -f "$seen"; return 0; }
  [ -z "$seen" ] || mv "$seen" "$folder/stamp"
  return 1
}

require_version() {
  version=$("$node" --version)
  major=${version#v}
  [ "${major%%.*}" -ge 24 ] || fail "needs Node.js 24 or newer, and $node is $version: npm ci in $root brings its own"
}

# of several that find a change at the same time one makes the bundles
refresh() (
  mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] || exit 1
  exec 9>"$folder/lock"
  flock 9
  is_stale || exit 0
  "$node" "$root/conductor/bundle/main.ts" 9>&- >&2
)

folder=$root/build/bundle
[ -d "$root/node_modules" ] || fail "$root/node_modules is not there: npm ci in $root makes it"
node=$root/node_modules/.bin/node
if [ ! -x "$node" ]; then
  # npm was not allowed to run the script that fetches it
  node=$(command -v node) || fail "there is no Node.js: npm ci in $root brings one"
  require_version
fi
if is_stale; then
  require_version
  refresh || fail "$folder is older than the sources, and could not be made: npm run build, as the owner of $root"
fi
# what V8 has compiled once; a folder that can't be written is none
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$folder/compiled}"
exec "$node" ${flags-} "$folder/$program.cjs" "$@"
