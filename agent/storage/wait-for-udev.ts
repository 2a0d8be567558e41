import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { retry } from '#shared/retry.ts';

/**
 * The udev race. When a program closes a disk that it had open for writing, udev opens the disk itself, to read the
 * new signatures, and asks the kernel to read the partition table. While udev holds it, `BLKRRPART` and exclusive
 * opens fail with EBUSY, and partition nodes vanish and come back. So: wait until udev's queue is empty before and
 * after every change of a partition table, and never trust `/dev/…p1` in between.
 */

const rereadTries = 10;

/** Waits until udev has handled all events; returns at once where no udev runs. */
export async function waitForUdev(run: Run): Promise<void> {
  try {
    await run('udevadm', ['settle', '--timeout=30'], { timeoutMs: 40_000 });
  } catch (error) {
    // no udev in this ramdisk: the kernel makes the device nodes itself, before the ioctl returns
    if (isMissingProgram(error)) return;
    throw new AppError('storage_error', 'wait for udev to handle its device events', { cause: error });
  }
}

/**
 * Makes the kernel read `device`'s partition table again and waits for the device nodes.
 * @throws AppError `storage_error` when the device stays busy.
 */
export async function rereadPartitions(run: Run, device: string): Promise<void> {
  const reread = async (): Promise<void> => {
    await waitForUdev(run);
    await run('blockdev', ['--rereadpt', device]);
  };
  await retry(reread, {
    attempts: rereadTries,
    passes: (error) => errorCode(error) === 'command_failed',
    delayMs: (attempt) => 100 * attempt, // a program that holds the device gives no event when it closes it
  }).catch((cause: unknown) => {
    throw new AppError('storage_error', `read the partition table of ${device} again`, { cause });
  });
  // names the partitions to a kernel without a parser for this table, and does nothing where they agree;
  // exit code 1: the disk has no table
  await run('partx', ['--update', device], { okExitCodes: [0, 1] });
  await waitForUdev(run);
}

/** Announces to the kernel partitions that are new in the table of a disk whose other partitions may be in use. */
export async function updatePartitions(run: Run, device: string): Promise<void> {
  await waitForUdev(run);
  await run('partx', ['--update', device]);
  await waitForUdev(run);
}

export function isMissingProgram(error: unknown): boolean {
  return error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}
