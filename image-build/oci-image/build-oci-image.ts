import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conductorPackages } from '#conductor/start/host-packages.ts';
import type { BuildContext } from '#image-build/build-context.ts';
import { stagePackage } from '#image-build/debian-package/stage-package.ts';
import { addLayer, finishLayout, type ImageConfig } from '#image-build/oci-image/oci-layout.ts';
import { listInstalled } from '#image-build/os-image/list-installed.ts';
import { packageTree } from '#image-build/package-tree.ts';
import { paths } from '#image-build/paths.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Of the user `baton` in containers, whom a Kubernetes security context names by number. */
const user = 900;
/** PostgreSQL is another container; these are for its dumps and for DHCP. */
const packages = [...conductorPackages, 'ca-certificates', 'dnsmasq-base', 'libstdc++6', 'postgresql-client-15'];

const makeUser =
  `chroot "$1" useradd --system --user-group --uid ${user} --home-dir /var/lib/baton --no-create-home ` +
  '--shell /usr/sbin/nologin baton';
const makeFolders =
  'chroot "$1" install -d -o baton -g baton -m 0700 /var/lib/baton /var/cache/baton; ' +
  'chroot "$1" install -d -o baton -g baton -m 0755 /var/lib/baton/images';

const config: ImageConfig = {
  User: `${user}:${user}`,
  ExposedPorts: { '6385/tcp': {} },
  Env: [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'NODE_COMPILE_CACHE=/var/cache/baton',
    'BATON_HOST=0.0.0.0',
    'BATON_AUTH=token',
    'BATON_RAMDISK_DIR=/usr/lib/baton/ramdisk',
    'BATON_IMAGES_DIR=/var/lib/baton/images',
  ],
  Entrypoint: ['/usr/lib/baton/bin/node', '/usr/lib/baton/build/bundle/conductor.cjs'],
  WorkingDir: '/var/lib/baton',
  Volumes: { '/var/lib/baton': {} },
  StopSignal: 'SIGTERM',
  Labels: {
    'org.opencontainers.image.title': 'baton',
    'org.opencontainers.image.version': packageJson.version,
    'org.opencontainers.image.licenses': packageJson.license,
  },
};

const architectures: Readonly<Record<string, string>> = { x64: 'amd64' };
const packMs = 10 * 60_000;

/**
 * Makes an OCI image layout of the conductor: a layer of Debian packages, from the cache where it has them, and one of Baton.
 * @returns its directory, for `skopeo copy oci:DIRECTORY:VERSION …`
 * @throws AppError `invalid_argument` without a ramdisk, `command_failed` when mmdebstrap or tar fails
 */
export async function buildOciImage(
  context: BuildContext,
  { output = paths.packages }: { readonly output?: string } = {},
): Promise<string> {
  const layout = join(output, 'oci');
  const base = await packageTree(context, {
    name: 'oci',
    suite: 'bookworm',
    packages,
    options: [
      '--variant=essential',
      '--dpkgopt=path-exclude=/usr/share/{doc,locale,man}/*',
      ...[makeUser, makeFolders].map((hook) => `--customize-hook=${hook}`),
    ],
    format: 'tar',
    finish: listInstalled,
    finishFile: join(paths.repository, 'image-build/os-image/list-installed.ts'),
  });
  await mkdir(output, { recursive: true });
  const work = await mkdtemp(join(output, 'oci.unfinished-'));
  const tree = await mkdtemp(join(tmpdir(), 'baton-oci-'));
  try {
    await chmod(tree, 0o755);
    await stagePackage(tree);
    const archive = join(tree, 'layer.tar');
    await context.run('tar', [...tarOptions, `--file=${archive}`, `--directory=${tree}`, 'usr'], { timeoutMs: packMs });
    context.say('package: compressing the layers of the OCI image');
    const layers = [
      await addLayer(work, base.path, `mmdebstrap bookworm ${packages.join(' ')}`),
      await addLayer(work, archive, 'npm run package'),
    ];
    const architecture = architectures[process.arch] ?? process.arch;
    await finishLayout(work, { layers, config, architecture, tag: packageJson.version, created: new Date() });
    await rm(layout, { recursive: true, force: true });
    await chmod(work, 0o755);
    await rename(work, layout);
    context.say(`package: ${layout}`);
    return layout;
  } finally {
    await rm(tree, { recursive: true });
    await rm(work, { recursive: true, force: true });
  }
}

/** Files are root's; their times make no other layer of equal files. */
const tarOptions = ['--create', '--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0'];
