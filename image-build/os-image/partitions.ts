import type { ManifestPartition } from '#image-build/manifest.ts';
import { identity } from '#image-build/os-image/recipe.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const sectorSize = 512;
/** Partitions start at multiples of 1 MiB, in sectors. */
const alignment = 2048;
/** The GPT's second copy: a header and 32 sectors of entries. */
const gptTail = 33;

export interface DiskLayout {
  readonly biosBoot: ManifestPartition;
  readonly efiSystem: ManifestPartition;
  readonly root: ManifestPartition;
}

/**
 * Three partitions: 1 MiB for GRUB's BIOS core, 64 MiB EFI system partition, the rest for the root file system.
 * @param diskSize bytes
 * @throws AppError `invalid_argument` when no room is left for a root file system
 */
export function planPartitions(diskSize: number): DiskLayout {
  const biosBoot = { number: 1, label: 'bios', type: 'ef02', guid: identity.biosBoot };
  const efiSystem = { number: 2, label: 'esp', type: 'ef00', guid: identity.efiSystem };
  const root = { number: 3, label: 'root', type: '8300', guid: identity.rootPartition };
  const biosSectors = alignment;
  const efiSectors = 64 * alignment;
  const efiStart = alignment + biosSectors;
  const rootStart = efiStart + efiSectors;
  const end = Math.floor((diskSize / sectorSize - gptTail) / alignment) * alignment;
  if (end <= rootStart) {
    throw new AppError('invalid_argument', `lay out a disk of ${diskSize} bytes: want more than 67 MiB`);
  }
  return {
    biosBoot: { ...biosBoot, first_sector: alignment, sectors: biosSectors },
    efiSystem: { ...efiSystem, first_sector: efiStart, sectors: efiSectors },
    root: { ...root, first_sector: rootStart, sectors: end - rootStart },
  };
}

/** sgdisk's arguments that write this layout to an empty disk image. */
export function sgdiskArguments(layout: DiskLayout, image: string): string[] {
  const partitions = [layout.biosBoot, layout.efiSystem, layout.root].flatMap((partition) => [
    `--new=${partition.number}:${partition.first_sector}:${partition.first_sector + partition.sectors - 1}`,
    `--typecode=${partition.number}:${partition.type}`,
    `--change-name=${partition.number}:${partition.label}`,
    `--partition-guid=${partition.number}:${partition.guid}`,
  ]);
  return ['--clear', `--disk-guid=${identity.disk}`, ...partitions, image];
}
