import type { DiskSettings } from '#agent/burnin/burnin-settings.ts';
import { runSmartTest } from '#agent/burnin/smart-test.ts';
import { verifyPass } from '#agent/burnin/verify-pass.ts';
import type { AgentContext } from '#agent/context.ts';
import { eraseEach } from '#agent/erase/erase-each.ts';
import { readEraseOptions } from '#agent/erase/erase-options.ts';
import { type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { withRawDisk } from '#agent/erase/raw-disk.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import type { SkippedDisk } from '#shared/wire/erase-result.ts';

/** One disk of the step's result. */
export interface BurntDisk {
  readonly device: string;
  readonly serial: string | null;
  readonly loops: number;
  /** Written, and read back as written. */
  readonly bytes: number;
  readonly seconds: number;
  readonly smart: 'passed' | 'not offered' | 'not asked for';
}

/**
 * Writes all disks full and reads them back, again and again; their data is lost.
 * @throws AppError `storage_error` naming each disk that failed, and the byte.
 */
export async function burnInDisks(
  context: AgentContext,
  settings: DiskSettings,
  machine: MachineDisks = machineDisks,
): Promise<{ readonly tested: readonly BurntDisk[]; readonly skipped: readonly SkippedDisk[] }> {
  const options = { ...readEraseOptions(context.node), skipUnusable: true };
  const { disks, skipped } = await prepareDisks(context, options, machine);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  // all at once, as in use: a machine whose power supply gives way under that load should do so here
  const tested = await eraseEach(
    context,
    disks,
    disks.length,
    (disk) => burnInDisk(context, disk, settings),
    'burn in',
  );
  return { tested, skipped };
}

async function burnInDisk(context: AgentContext, disk: BlockDevice, settings: DiskSettings): Promise<BurntDisk> {
  const { clock, signal, run } = context;
  const startedAt = clock.now().getTime();
  const seconds = (): number => (clock.now().getTime() - startedAt) / 1000;
  const isOver = (): boolean => settings.seconds > 0 && seconds() >= settings.seconds;
  const done = { loops: 0, bytes: 0 };
  await withRawDisk(disk, async (raw, pool) => {
    while (settings.seconds > 0 ? !isOver() : done.loops < settings.loops) {
      done.bytes += await verifyPass(raw, pool, { signal, isOver }, (bytes) =>
        context.reportProgress({
          phase: `burning in ${disk.name}, loop ${done.loops + 1}`,
          done_bytes: bytes,
          total_bytes: 2 * disk.sizeBytes,
        }),
      );
      done.loops += 1;
    }
  });
  await rereadPartitions(run, disk.name);
  const smart = settings.smartTest ? await runSmartTest(context, disk.name) : 'not asked for';
  return { device: disk.name, serial: disk.serial, ...done, seconds: seconds(), smart };
}
