import type { RequestedLayout } from '#agent/storage/partition-layout.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';

/** File systems that this ramdisk can make. */
const ephemeralFormats = ['ext2', 'ext3', 'ext4', 'vfat'] as const;
export type EphemeralFormat = (typeof ephemeralFormats)[number];

/** Layout that `image_info` wants of the disk of a partition image. */
export interface RequestedPartitions extends RequestedLayout {
  readonly ephemeralFormat: EphemeralFormat;
  /** Neither the partition table nor the ephemeral partition is touched. */
  readonly preserveEphemeral: boolean;
}

/** Which kind of image it is (agent-protocol.md §6.2). */
export function isPartitionImage(info: Pick<ImageInfo, 'image_type' | 'kernel' | 'ramdisk'>): boolean {
  return info.image_type ? info.image_type === 'partition' : Boolean(info.kernel && info.ramdisk);
}

/**
 * @param ramdiskBootMode what the machine booted by, for a conductor that does not say
 * @throws AppError `invalid_argument` or `not_supported` naming the field.
 */
export function readRequestedPartitions(
  info: ImageInfo,
  hasConfigDrive: boolean,
  ramdiskBootMode: 'bios' | 'uefi',
): RequestedPartitions {
  if (info.boot_option && info.boot_option !== 'local') {
    throw new AppError('not_supported', `image_info.boot_option is "${info.boot_option}": only "local" is there`);
  }
  const rootMib = info.root_mb ?? (info.root_gb ?? 0) * 1024;
  if (rootMib <= 0) {
    throw new AppError('invalid_argument', 'image_info.root_gb (or root_mb) must say how large the root partition is');
  }
  const ephemeralMib = info.ephemeral_mb ?? 0;
  const preserveEphemeral = info.preserve_ephemeral ?? false;
  if (preserveEphemeral && ephemeralMib === 0) {
    throw new AppError('invalid_argument', 'image_info.preserve_ephemeral is set, but ephemeral_mb is 0');
  }
  const bootMode = info.deploy_boot_mode ?? ramdiskBootMode;
  return {
    bootMode,
    label: info.disk_label ?? (bootMode === 'uefi' ? 'gpt' : 'msdos'),
    ephemeralMib,
    swapMib: info.swap_mb ?? 0,
    hasConfigDrive,
    rootMib,
    ephemeralFormat: checkFormat(info.ephemeral_format ?? 'ext4'),
    preserveEphemeral,
  };
}

function checkFormat(format: string): EphemeralFormat {
  const found = ephemeralFormats.find((each) => each === format);
  if (found) return found;
  throw new AppError(
    'not_supported',
    `image_info.ephemeral_format is "${format}": ${ephemeralFormats.join(', ')} can be made here`,
  );
}
