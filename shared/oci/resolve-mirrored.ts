import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { type OciReference, parseOciReference, showOciReference } from '#shared/oci/reference.ts';
import { type ResolvedImage, resolveImage } from '#shared/oci/resolve-image.ts';

/** A place that has copies of a registry's images. */
export interface Mirror {
  readonly registry: string;
  /** Path before each repository; '' = none. */
  readonly prefix: string;
}

/**
 * Finds the disk image as `resolveImage` does, at the registry's mirror first, and then at the registry. Its `pinned` names
 * the registry in both cases: the digest is the same bytes wherever they come from.
 * @param mirrors each by the name of its registry
 * @throws AppError as `resolveImage`: the registry's, with the mirror's beside it.
 */
export async function resolveMirrored(
  reference: OciReference,
  cpuArch: string | undefined,
  means: RegistryMeans,
  mirrors: ReadonlyMap<string, Mirror>,
): Promise<ResolvedImage> {
  const mirror = mirrors.get(reference.registry);
  if (!mirror) return resolveImage(reference, cpuArch, means);
  const { registry, prefix } = mirror;
  const repository = prefix === '' ? reference.repository : `${prefix}/${reference.repository}`;
  let failure: AppError;
  try {
    const image = await resolveImage({ ...reference, registry, repository }, cpuArch, means);
    const { digest } = parseOciReference(image.pinned, 'the image');
    return { ...image, pinned: showOciReference({ ...reference, digest }) };
  } catch (error) {
    if (means.signal.aborted || !(error instanceof AppError) || !mayBeElsewhere(error)) throw error;
    failure = error;
  }
  try {
    return await resolveImage(reference, cpuArch, means);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, situation, subject } = error;
    const what = `${errorChain(error)} (its mirror failed before: ${errorChain(failure)})`;
    throw new AppError(code, what, { cause: error.cause, situation, subject });
  }
}

/** Returns whether the registry may have the image: its mirror is away, refuses, or has no copy. An unusable image is found. */
function mayBeElsewhere({ code, situation }: AppError): boolean {
  return code === 'unavailable' || situation === 'image_missing' || situation === 'image_denied';
}
