import { createCipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { eraseEach } from '#agent/erase/erase-disks.ts';
import { type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { type RawDisk, withRawDisk } from '#agent/erase/raw-disk.ts';
import { type SlotPool, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { DiskSettings } from '#shared/in-band/burnin-settings.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
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

/**
 * Fills a disk with random bytes, then reads all of it and compares: every byte differs from disk to disk and from
 * pass to pass, so that a disk that answers with an older block, or another one's, is found out.
 * @param onBytes called after each MiB how many bytes were written and read in this pass
 * @returns bytes that were read back as written; less than the disk's when the time is over
 * @throws AppError `storage_error` naming the byte, `aborted`.
 */
export async function verifyPass(
  raw: RawDisk,
  pool: SlotPool,
  until: { readonly signal: AbortSignal; readonly isOver: () => boolean },
  onBytes: (bytes: number) => void,
): Promise<number> {
  const [key, start] = [randomBytes(16), randomBytes(16)];
  const slot = await pool.acquire();
  const zeros = Buffer.alloc(slotBytes);
  const forEach = async (
    end: number,
    isOver: () => boolean,
    act: (expected: Buffer, offset: number) => Promise<void>,
  ): Promise<number> => {
    const stream = createCipheriv('aes-128-ctr', key, start);
    let offset = 0;
    for (; offset < end && !isOver(); offset += slotBytes) {
      if (until.signal.aborted) {
        throw new AppError('aborted', `testing ${raw.name} was stopped`, { cause: until.signal.reason });
      }
      const expected = stream.update(zeros).subarray(0, Math.min(slotBytes, end - offset));
      await act(expected, offset);
    }
    return Math.min(offset, end);
  };
  try {
    const written = await forEach(raw.sizeBytes, until.isOver, async (expected, offset) => {
      slot.bytes.set(expected);
      await raw.write(slot.bytes.subarray(0, expected.length), offset);
      onBytes(offset + expected.length);
    });
    await raw.flush();
    // all that was written is read, however late it is: else a short time would compare nothing
    return await forEach(
      written,
      () => false,
      async (expected, offset) => {
        const read = slot.bytes.subarray(0, expected.length);
        await raw.read(read, offset);
        if (!read.equals(expected)) throw differs(raw.name, offset, expected, read);
        onBytes(written + offset + expected.length);
      },
    );
  } finally {
    slot.release();
  }
}

function differs(name: string, offset: number, expected: Buffer, read: Buffer): AppError {
  const at = expected.findIndex((byte, index) => read[index] !== byte);
  const bytes = expected.reduce((sum, byte, index) => sum + (read[index] === byte ? 0 : 1), 0);
  return new AppError(
    'storage_error',
    `${name} gave back other bytes than were written: ${bytes} of ${expected.length} from byte ${offset}, the first at ${offset + at}`,
  );
}

const Report = z.looseObject({
  ata_smart_data: z
    .looseObject({
      self_test: z.looseObject({
        status: z.looseObject({ string: z.string().optional(), value: z.number().optional() }),
      }),
    })
    .optional(),
});

type SelfTest = 'running' | 'passed' | 'not offered' | { readonly failed: string };

/** Bits 0 and 1 say that the question could not be asked; the others describe the disk's state. */
const readable = Array.from({ length: 64 }, (_value, index) => index * 4);

/**
 * Runs a disk's own long self test and waits for its end.
 * @throws AppError `storage_error` with what the disk says, `aborted`.
 */
export async function runSmartTest(
  context: Pick<AgentContext, 'run' | 'clock' | 'signal' | 'reportProgress'>,
  device: string,
): Promise<'passed' | 'not offered'> {
  const { run, clock, signal } = context;
  const look = async (): Promise<SelfTest> => {
    const { stdout } = await run('smartctl', ['--json', '--all', device], { okExitCodes: [...readable, 1, 2] });
    return parseSelfTest(device, stdout);
  };
  if ((await look()) === 'not offered') return 'not offered';
  try {
    await run('smartctl', ['--test=long', device], { okExitCodes: readable });
  } catch (cause) {
    throw new AppError('storage_error', `start the self test of ${device}`, { cause });
  }
  for (;;) {
    const state = await look();
    if (state === 'passed' || state === 'not offered') return state;
    if (state !== 'running')
      throw new AppError('storage_error', `the self test of ${device} says: ${state.failed}`, {
        situation: 'disk_failing',
        subject: device,
      });
    context.reportProgress({ phase: `${device} tests itself` });
    await clock.sleep(30_000, signal);
  }
}

/** Parses `smartctl --json --all` of an ATA disk; others have no such test. */
export function parseSelfTest(device: string, stdout: string): SelfTest {
  try {
    const status = Report.parse(JSON.parse(stdout)).ata_smart_data?.self_test.status;
    if (status === undefined) return 'not offered';
    const text = status.string ?? '';
    if (/in progress/.test(text)) return 'running';
    // 0 is also what a disk says that was never tested
    return status.value === 0 || /without error/.test(text) ? 'passed' : { failed: text || `status ${status.value}` };
  } catch (cause) {
    throw new AppError('storage_error', `read what ${device} says of its self test`, { cause });
  }
}
