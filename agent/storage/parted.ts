import type { Run } from '#shared/process/run.ts';

const mib = 1024 * 1024;
/** MBR partitions end below 2 TiB. */
const maxMsdosMib = 2 * 1024 * 1024;

/** Adds a primary partition in the last `sizeMib` MiB that an msdos table reaches. @throws AppError `command_failed` without a free slot or space. */
export async function addLastMsdosPartition(
  run: Run,
  device: { readonly name: string; readonly sizeBytes: number },
  sizeMib: number,
): Promise<void> {
  const range =
    device.sizeBytes > maxMsdosMib * mib
      ? [`${maxMsdosMib - sizeMib - 1}MiB`, `${maxMsdosMib - 1}MiB`]
      : [`-${sizeMib}MiB`, '-0'];
  await run('parted', ['--align', 'optimal', '--script', '--', device.name, 'mkpart', 'primary', 'fat32', ...range]);
}
