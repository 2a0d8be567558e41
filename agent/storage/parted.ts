import type { Run } from '#shared/process/run.ts';

const mib = 1024 * 1024;
/** MBR partitions end below 2 TiB. */
const maxMsdosMib = 2 * 1024 * 1024;

/** Adds a primary partition in the last `sizeMib` MiB that an msdos table reaches. @throws AppError `command_failed` without a free slot or space. */
export async function addLastMsdosPartition(run: Run, device: string, sizeMib: number): Promise<void> {
  const deviceBytes = Number((await run('blockdev', ['--getsize64', device])).stdout);
  const range =
    deviceBytes > maxMsdosMib * mib
      ? [`${maxMsdosMib - sizeMib - 1}MiB`, `${maxMsdosMib - 1}MiB`]
      : [`-${sizeMib}MiB`, '-0'];
  await run('parted', ['--align', 'optimal', '--script', '--', device, 'mkpart', 'primary', 'fat32', ...range]);
}
