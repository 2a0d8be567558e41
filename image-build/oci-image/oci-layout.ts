import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** What OCI's image specification (1.0) says of a blob. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface Layer {
  readonly descriptor: Descriptor;
  /** Digest of the archive before it was compressed. */
  readonly diffId: string;
  readonly createdBy: string;
}

/** How containers of the image run; the specification's `config`. */
export interface ImageConfig {
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
export async function addLayer(layout: string, archive: string, createdBy: string): Promise<Layer> {
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
export async function finishLayout(
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
