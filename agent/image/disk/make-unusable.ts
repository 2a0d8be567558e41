import type { AgentContext } from '#agent/context.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { zeroEnds } from '#agent/storage/wipe-disk.ts';
import { runCleanup } from '#shared/process/run-cleanup.ts';

/**
 * After a failed write: nothing may start from the half-written disk. Each part is done whatever comes of the others,
 * and of the agent; failures are logged, since the failure that led here is the one to report.
 * @param keepTable the partition table and the other partitions stay
 */
export async function makeUnusable(
  { run, log }: Pick<AgentContext, 'run' | 'log'>,
  device: Pick<BlockDevice, 'name' | 'sizeBytes'>,
  opened: readonly Pick<Disk, 'name' | 'close'>[],
  keepTable: boolean,
): Promise<void> {
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      log.error({ err: error, device: device.name }, `the half-written disk could not be made unusable: ${what}`);
    }
  };
  for (const { name, close } of opened) {
    await attempt(`close ${name}`, close);
    await attempt(`wipe ${name}`, () => runCleanup(run, 'wipefs', ['--all', '--force', name]));
  }
  if (!keepTable) await attempt('zero its ends', () => zeroEnds(device));
}
