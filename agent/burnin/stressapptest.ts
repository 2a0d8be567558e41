import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** The step's result. */
export interface StressResult {
  readonly seconds: number;
  readonly megabytes: number;
  readonly threads: number;
  /** Megabytes per second that were copied and compared. */
  readonly rate: number | null;
}

/** What it takes beyond `seconds` to fill the memory at first and to compare it at the end, per MiB. */
const extraMsPerMib = 20;

/**
 * Runs Google's stressapptest, which copies blocks of memory and checks every one of them.
 * @throws AppError `command_failed` naming what it found, `aborted`, `timeout` when it hangs.
 */
export async function stress(
  run: Run,
  load: { readonly seconds: number; readonly megabytes: number; readonly threads: number; readonly cpu: boolean },
  signal: AbortSignal,
): Promise<StressResult> {
  const { seconds, megabytes, threads } = load;
  const args = ['-s', String(seconds), '-M', String(megabytes), '-m', String(threads), '--stop_on_errors', '-v', '5'];
  const { stdout, exitCode } = await run(
    'stressapptest',
    [...args, ...(load.cpu ? ['-W', '-C', String(threads)] : [])],
    {
      timeoutMs: seconds * 1000 + 120_000 + megabytes * extraMsPerMib,
      okExitCodes: [0, 1],
      signal,
    },
  );
  const { passed, rate, findings } = parseStress(stdout);
  if (passed && exitCode === 0) return { seconds, megabytes, threads, rate };
  const reason = findings.slice(0, 5).join('; ') || `exit code ${exitCode}`;
  throw new AppError('command_failed', `the machine failed under load: ${reason}`, { details: { findings } });
}

/** Parses stressapptest 1.0.6. */
export function parseStress(stdout: string): {
  readonly passed: boolean;
  readonly rate: number | null;
  readonly findings: readonly string[];
} {
  const lines = stdout
    .split('\n')
    .map((line) => line.replace(/^[\d/:-]*\s*(?=(Stats|Log|Status|Report Error|Hardware Error))/, ''));
  const rate = /^Stats: Completed: .* ([\d.]+)MB\/s/m.exec(lines.join('\n'))?.[1];
  return {
    passed: lines.some((line) => line.startsWith('Status: PASS')),
    rate: rate === undefined ? null : Number(rate),
    findings: lines.filter((line) => /^(Report|Hardware|Process) Error|incidents, [1-9]|FAIL/.test(line)),
  };
}
