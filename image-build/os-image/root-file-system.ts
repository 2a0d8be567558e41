import type { BuildContext } from '#image-build/build-context.ts';
import type { ManifestPartition } from '#image-build/manifest.ts';
import { sectorSize } from '#image-build/os-image/partitions.ts';
import { identity, imageDate } from '#image-build/os-image/recipe.ts';

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
