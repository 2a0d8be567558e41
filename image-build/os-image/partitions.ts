import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import type { ManifestPartition } from '#image-build/manifest.ts';
import { identity, imageDate } from '#image-build/os-image/recipe.ts';
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

/**
 * Makes the ext4 root file system from a directory, inside the disk image at the partition's place: nothing is mounted
 * and nothing copied twice.
 */
export async function makeRootFileSystem(
  context: BuildContext,
  root: string,
  image: string,
  partition: ManifestPartition,
): Promise<void> {
  const offset = partition.first_sector * sectorSize;
  const kibibytes = (partition.sectors * sectorSize) / 1024;
  const extended = `offset=${offset},hash_seed=${identity.directoryHash},lazy_itable_init=1,nodiscard`;
  const fixedTime = { E2FSPROGS_FAKE_TIME: String(imageDate), MKE2FS_DEVICE_SECTSIZE: String(sectorSize) };
  await context.run(
    'mkfs.ext4',
    ['-q', '-F', '-L', 'root', '-U', identity.rootFileSystem, '-m', '1', '-b', '4096', '-i', '16384'].concat([
      '-O',
      '^metadata_csum_seed',
      '-E',
      extended,
      '-d',
      root,
      image,
      `${kibibytes}k`,
    ]),
    { env: fixedTime, timeoutMs: 300_000 },
  );
  await fixInodeTimes(context, `${image}?offset=${offset}`, fixedTime);
}

/** mkfs copies the source's access and change times, which are those of this build; nobody can set the latter. */
async function fixInodeTimes(
  context: BuildContext,
  fileSystem: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { stdout } = await context.run('debugfs', ['-R', 'show_super_stats -h', fileSystem]);
  const used = parseUsedInodes(stdout);
  const fields = ['atime', 'ctime', 'crtime'];
  const commands = Array.from({ length: used }, (_, index) =>
    fields.map((field) => `set_inode_field <${index + 1}> ${field} @${imageDate}\n`).join(''),
  );
  await context.run('debugfs', ['-w', '-f', '-', fileSystem], {
    input: commands.join(''),
    env,
    timeoutMs: 300_000,
  });
}

/** Inodes in use of a file system just made, numbered from 1 without gaps, from `debugfs show_super_stats`. */
export function parseUsedInodes(text: string): number {
  const count = (label: string): number =>
    Number(new RegExp(`^${label}:\\s+(\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return count('Inode count') - count('Free inodes');
}

/** The disk image once more, in the forms in which images are handed out elsewhere; `qemu-img` makes them. */
export const variantNames = ['demo.qcow2', 'demo-root.qcow2'] as const;

/**
 * Makes `demo.qcow2`, the whole disk, and `demo-root.qcow2`, its root file system alone (a partition image), both
 * compressed with zstd.
 * @param image `demo.raw`
 */
export async function makeVariants(
  context: BuildContext,
  output: string,
  image: string,
  layout: DiskLayout,
): Promise<void> {
  const offset = layout.root.first_sector * sectorSize;
  const size = layout.root.sectors * sectorSize;
  await convert(context, ['-f', 'raw', image], join(output, 'demo.qcow2'));
  const root = `driver=raw,offset=${offset},size=${size},file.driver=file,file.filename=${image}`;
  await convert(context, ['--image-opts', root], join(output, 'demo-root.qcow2'));
}

async function convert(context: BuildContext, source: readonly string[], file: string): Promise<void> {
  const format = ['-c', '-O', 'qcow2', '-o', 'compression_type=zstd'];
  await context.run('qemu-img', ['convert', ...format, ...source, `${file}.new`], { timeoutMs: 600_000 });
  await rename(`${file}.new`, file);
}
