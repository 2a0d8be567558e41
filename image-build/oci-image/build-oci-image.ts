import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { conductorPackages } from '#conductor/start/host-packages.ts';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { stagePackage } from '#image-build/debian-package/stage-package.ts';
import { listInstalled } from '#image-build/os-image/list-installed.ts';
import { packageTree } from '#image-build/package-tree.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Number of the user `baton` in containers, whom a Kubernetes security context names by number. */
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
    'MALLOC_MMAP_THRESHOLD_=131072',
    'BATON_HOST=0.0.0.0',
    'BATON_AUTH=token',
    'BATON_RAMDISK_DIR=/usr/lib/baton/ramdisk',
    'BATON_IMAGES_DIR=/var/lib/baton/images',
  ],
  Entrypoint: [
    '/usr/lib/baton/bin/node',
    '--max-semi-space-size=4',
    '--heap-growing-percent=30',
    '/usr/lib/baton/build/bundle/conductor.cjs',
  ],
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

/** Description of a blob by OCI's image specification (1.0). */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface Layer {
  readonly descriptor: Descriptor;
  /** Digest of the archive before it was compressed. */
  readonly diffId: string;
  readonly createdBy: string;
}

/** How containers of the image run; the specification's `config`. */
interface ImageConfig {
  readonly User: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly StopSignal: string;
  readonly Labels: Readonly<Record<string, string>>;
}

const blobsOf = (layout: string): string => join(layout, 'blobs/sha256');

/** Compresses a tar archive into the layout. */
async function addLayer(layout: string, archive: string, createdBy: string): Promise<Layer> {
  await mkdir(blobsOf(layout), { recursive: true });
  const unfinished = join(layout, 'layer.unfinished');
  const before = hashing();
  const after = hashing();
  await pipeline(
    createReadStream(archive, { highWaterMark: 1 << 20 }),
    before.stream,
    createGzip(),
    after.stream,
    createWriteStream(unfinished),
  );
  const sha256 = after.digest();
  const { size } = await stat(unfinished);
  await rename(unfinished, join(blobsOf(layout), sha256));
  const descriptor = { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest: `sha256:${sha256}`, size };
  return { descriptor, diffId: `sha256:${before.digest()}`, createdBy };
}

/** Writes the image of these layers, the lowest first, and makes it the only one of the layout. */
async function finishLayout(
  layout: string,
  image: {
    readonly layers: readonly Layer[];
    readonly config: ImageConfig;
    readonly architecture: string;
    readonly tag: string;
    readonly created: Date;
  },
): Promise<void> {
  const { layers, architecture, tag } = image;
  const created = image.created.toISOString();
  const config = await addJson(layout, 'application/vnd.oci.image.config.v1+json', {
    created,
    architecture,
    os: 'linux',
    config: image.config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  });
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = await addJson(layout, mediaType, {
    schemaVersion: 2,
    mediaType,
    config,
    layers: layers.map(({ descriptor }) => descriptor),
  });
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  const platform = { architecture, os: 'linux' };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations, platform }] };
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await writeFile(join(layout, 'index.json'), JSON.stringify(index));
}

async function addJson(layout: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const bytes = Buffer.from(JSON.stringify(value));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await writeFile(join(blobsOf(layout), sha256), bytes);
  return { mediaType, digest: `sha256:${sha256}`, size: bytes.length };
}

function hashing(): { readonly stream: Transform; readonly digest: () => string } {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, digest: () => hash.digest('hex') };
}
