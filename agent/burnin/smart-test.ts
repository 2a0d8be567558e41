import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

/** Bits 0 and 1 say that the question could not be asked; the others tell of the disk's state. */
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
    if (state !== 'running') throw new AppError('storage_error', `the self test of ${device} says: ${state.failed}`);
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
