import type { AgentContext } from '#agent/context.ts';
import type { RequestedPartitions } from '#agent/image/requested-partitions.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Making a file system on a large disk under emulation takes minutes. */
const makeTimeoutMs = 30 * 60_000;

/** Makes the ESP's file system, with the label that Ironic gives it. */
export async function makeEspFileSystem(run: Run, partition: string): Promise<void> {
  await run('mkfs.vfat', ['-n', 'efi-part', partition], { timeoutMs: makeTimeoutMs });
}

export async function makeSwap(run: Run, partition: string): Promise<void> {
  await run('mkswap', ['--force', '--label', 'swap1', partition], { timeoutMs: makeTimeoutMs });
}

export async function makeEphemeral(
  run: Run,
  partition: string,
  format: RequestedPartitions['ephemeralFormat'],
): Promise<void> {
  const options = format === 'vfat' ? ['-n', 'ephemeral0'] : ['-q', '-F', '-L', 'ephemeral0'];
  await run(`mkfs.${format}`, [...options, partition], { timeoutMs: makeTimeoutMs });
}

/**
 * Lets an ext file system fill its partition; others are grown by the system itself (xfs and btrfs can only be while
 * they are mounted, by tools that the ramdisk lacks). Ironic's agent leaves all of them to it.
 * @throws AppError `image_error` when the file system is damaged.
 */
export async function growFileSystem(
  { run, log }: Pick<AgentContext, 'run' | 'log'>,
  partition: ProbedPartition,
): Promise<void> {
  if (!/^ext[234]$/.test(partition.fsType ?? '')) return;
  try {
    // resize2fs wants it checked; 1: it was repaired (an image taken from a running system has a journal to replay)
    await run('e2fsck', ['-f', '-p', partition.name], { okExitCodes: [0, 1], timeoutMs: makeTimeoutMs });
    await run('resize2fs', [partition.name], { timeoutMs: makeTimeoutMs });
  } catch (cause) {
    throw new AppError('image_error', `grow the image's file system to fill ${partition.name}`, { cause });
  }
  log.info({ partition: partition.name }, 'root file system fills its partition');
}
