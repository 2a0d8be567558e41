import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';

export interface ArtifactFile {
  readonly content: Buffer;
  readonly title?: string;
  /** Default: as ORAS has it for any file. */
  readonly mediaType?: string;
}

/** A manifest that is pushed under a tag; several make an index. */
export interface Artifact {
  readonly files: readonly ArtifactFile[];
  readonly architecture?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const indexType = 'application/vnd.oci.image.index.v1+json';

/** Makes the digest of bytes as descriptors have it. */
export function digestOf(content: Buffer | string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/**
 * Writes an OCI image layout, as ORAS makes one, for skopeo to push.
 * @returns the digests of the manifests, in order, and of the index where there are several
 */
export async function writeLayout(
  folder: string,
  artifacts: readonly Artifact[],
): Promise<{ readonly manifests: readonly string[]; readonly index: string | undefined }> {
  const blobs = join(folder, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const put = async (content: Buffer | string): Promise<{ readonly digest: string; readonly size: number }> => {
    const digest = digestOf(content);
    await writeFile(join(blobs, digest.slice('sha256:'.length)), content);
    return { digest, size: Buffer.byteLength(content) };
  };
  const manifests = [];
  for (const { files, architecture = 'amd64', annotations } of artifacts) {
    const config = await put(
      JSON.stringify({ architecture, os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [] } }),
    );
    const layers = [];
    for (const { content, title, mediaType = 'application/vnd.oci.image.layer.v1.tar' } of files) {
      const named = title === undefined ? {} : { annotations: { 'org.opencontainers.image.title': title } };
      layers.push({ mediaType, ...(await put(content)), ...named });
    }
    const manifest = {
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
      layers,
    };
    const written = await put(JSON.stringify(manifest));
    const about = annotations ? { annotations } : {};
    manifests.push({ mediaType: manifestType, ...written, platform: { architecture, os: 'linux' }, ...about });
  }
  const [first, ...others] = manifests;
  const whole = others.length === 0 ? undefined : { schemaVersion: 2, mediaType: indexType, manifests };
  const index = whole && (await put(JSON.stringify(whole)));
  const top = index
    ? { mediaType: indexType, ...index }
    : { mediaType: manifestType, digest: first?.digest, size: first?.size };
  const named = { ...top, annotations: { 'org.opencontainers.image.ref.name': 'it' } };
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [named] }));
  await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  return { manifests: manifests.map(({ digest }) => digest), index: index?.digest };
}

/** Pushes a layout with skopeo, bytes as they are. @param to `127.0.0.1:5000/name:tag` */
export async function pushLayout(folder: string, to: string, login?: string): Promise<void> {
  const access = ['--dest-tls-verify=false', ...(login === undefined ? [] : ['--dest-creds', login])];
  await run(
    'skopeo',
    ['copy', '--quiet', '--all', '--preserve-digests', ...access, `oci:${folder}:it`, `docker://${to}`],
    {
      secrets: login === undefined ? [] : [login],
    },
  );
}
