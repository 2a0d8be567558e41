import { AppError } from '#shared/errors/app-error.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { type DiskLayer, findDiskLayer } from '#shared/oci/disk-layer.ts';
import type { Descriptor } from '#shared/oci/documents.ts';
import { type OciReference, showOciReference } from '#shared/oci/reference.ts';
import { openRepository, type Repository } from '#shared/oci/registry-client.ts';
import { formatOfDiskType, selectManifests, type WantedArchitecture } from '#shared/oci/select-manifest.ts';
import { unusableImage } from '#shared/oci/unusable-image.ts';
import { nameSome } from '#shared/words.ts';

/** A disk image in a registry: its bytes, by their digest, and how they can be fetched now. */
export interface ResolvedImage extends DiskLayer {
  /** The reference with the digest of the manifest that has the file: the same bytes for ever. */
  readonly pinned: string;
  readonly url: string;
  /** Authorization header for that URL; it may end in minutes. A secret. */
  readonly authorization: string | undefined;
}

/** Levels of documents that are read: an index may lead to others. */
const mostLevels = 3;
/** Manifests that are read to find the one with a disk, where the index does not say. */
const mostLooked = 8;

/**
 * Finds the disk image that a reference names for a machine: tag → index → manifest of its architecture → layer.
 * @param cpuArch the node's `properties.cpu_arch`, if it is known
 * @throws AppError `image_error` (no such image, no disk, refused), `invalid_argument`, `not_supported`, `unavailable`,
 * `forbidden`.
 */
export async function resolveImage(
  reference: OciReference,
  cpuArch: string | undefined,
  means: RegistryMeans,
): Promise<ResolvedImage> {
  const repository = openRepository(reference, means);
  const { tag, digest } = reference;
  const found = await findManifest(
    repository,
    { tag: digest === undefined ? tag : undefined, digest },
    { reference, architecture: { cpuArch, archField: means.archField } },
  );
  return {
    ...found.layer,
    pinned: showOciReference({ ...reference, digest: found.digest }),
    url: repository.blobUrl(found.layer.digest),
    authorization: repository.authorization(),
  };
}

interface Wanted {
  readonly reference: OciReference;
  readonly architecture: WantedArchitecture;
}

interface FoundManifest {
  readonly digest: string;
  readonly layer: DiskLayer;
}

async function findManifest(
  repository: Repository,
  which: Pick<OciReference, 'tag' | 'digest'>,
  wanted: Wanted,
  level = 1,
): Promise<FoundManifest> {
  const about = showOciReference({ ...wanted.reference, ...which });
  const { digest, document } = await repository.read(which);
  if (document.kind === 'manifest') return { digest, layer: findDiskLayer(document.manifest, about) };
  if (level === mostLevels) {
    throw unusableImage(`${about}: its index leads to others, more than ${mostLevels} deep`);
  }
  const candidates = selectManifests(document.index, wanted.architecture, about);
  const [only, ...others] = candidates;
  if (only && others.length === 0) {
    const found = await findManifest(repository, { tag: undefined, digest: only.digest }, wanted, level + 1);
    return { ...found, layer: withFormat(found.layer, only) };
  }
  return findAmong(repository, candidates, wanted, { about, level });
}

/** Reads the manifests that the index does not tell apart, and takes the only one with a disk. */
async function findAmong(
  repository: Repository,
  candidates: readonly Descriptor[],
  wanted: Wanted,
  { about, level }: { readonly about: string; readonly level: number },
): Promise<FoundManifest> {
  const ambiguous = (among: readonly string[]): AppError =>
    unusableImage(`${about} has several images that may be meant: name one by its digest (${nameSome(among, 8)})`);
  if (candidates.length > mostLooked) throw ambiguous(candidates.map(({ digest }) => digest));
  const found: FoundManifest[] = [];
  let lacking: unknown;
  for (const candidate of candidates) {
    try {
      const each = await findManifest(repository, { tag: undefined, digest: candidate.digest }, wanted, level + 1);
      found.push({ ...each, layer: withFormat(each.layer, candidate) });
    } catch (error) {
      // a manifest that can't be read may be the one that is meant
      if (!(error instanceof AppError) || error.situation !== 'image_unusable') throw error;
      lacking ??= error;
    }
  }
  const [only, ...others] = found;
  if (!only) throw lacking;
  if (others.length > 0) throw ambiguous(found.map(({ digest }) => digest));
  return only;
}

/** Adds the format that the index names where the manifest names none. */
function withFormat(layer: DiskLayer, { annotations }: Descriptor): DiskLayer {
  return layer.format === undefined ? { ...layer, format: formatOfDiskType(annotations) } : layer;
}
