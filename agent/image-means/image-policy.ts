import { AppError } from '#shared/errors/app-error.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';

/** Policy of the conductor for images (`config` of the lookup, agent-protocol.md §2.2); what is absent is allowed. */
export interface ImagePolicy {
  /** `raw`, `gpt`, `qcow2`… */
  readonly permittedFormats?: readonly string[] | undefined;
  /** Boot loaders of partition images are to be installed by the image's own GRUB tools; absent: by the ramdisk's. */
  readonly runImagePrograms?: boolean | undefined;
  /** Where images, and what belongs to them, may be fetched from; nothing said (by Ironic): anywhere. */
  readonly fetchFrom?: OutboundRules | undefined;
}

/** `gpt` is Ironic's word for a raw image with a partition table. */
const rawFormats: readonly string[] = ['raw', 'gpt'];

/**
 * The format that an image has to be of: as declared, or, where nothing is declared, the only one permitted.
 * @returns `undefined` when any that can be written will do
 * @throws AppError `image_error` when the declared format is not permitted, naming those that are.
 */
export function requiredFormat(declared: string | null | undefined, policy: ImagePolicy): string | undefined {
  const { permittedFormats: permitted } = policy;
  if (!permitted) return declared ?? undefined;
  const writable = [rawFormats, ['qcow2']].filter((formats) => formats.some((format) => permitted.includes(format)));
  const wanted = declared ? writable.find((formats) => formats.includes(declared)) : writable[0];
  if (wanted) return declared ?? (writable.length === 1 ? wanted[0] : undefined);
  throw new AppError(
    'image_error',
    `the image is ${declared ?? 'of no declared format'}, and the conductor permits ${permitted.join(', ') || 'none'} (permitted_image_formats)`,
  );
}
