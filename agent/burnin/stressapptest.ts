import { readFile } from 'node:fs/promises';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Left to the kernel and the agent: the ramdisk is in memory too, and an agent that is killed reports nothing. */
const reserveBytes = 160 * 1024 * 1024;

/**
 * How many MiB a memory test may take: a share of what is free, or a number of bytes.
 * @throws AppError `invalid_argument` when there is less than that.
 */
export function chooseMegabytes(
  availableBytes: number,
  amount: { readonly percent: number } | { readonly bytes: number },
): number {
  const usable = Math.max(0, availableBytes - reserveBytes);
  const wanted = 'percent' in amount ? (usable * Math.min(amount.percent, 100)) / 100 : amount.bytes;
  const megabytes = Math.floor(Math.min(wanted, usable) / 1024 ** 2);
  if (wanted > usable || megabytes < 16) {
    const mib = (bytes: number): string => `${Math.floor(bytes / 1024 ** 2)} MiB`;
    throw new AppError(
      'invalid_argument',
      `driver_info.agent_burnin_vm_vm-bytes asks for ${mib(wanted)} of memory: ${mib(usable)} can be tested`,
    );
  }
  return megabytes;
}

export async function readAvailableBytes(file = '/proc/meminfo'): Promise<number> {
  const found = /^MemAvailable:\s+(\d+) kB$/m.exec(await readFile(file, 'utf8'));
  if (!found) throw new AppError('internal', `${file} does not show how much memory is free`);
  return Number(found[1]) * 1024;
}

/** The step's result. */
export interface StressResult {
  readonly seconds: number;
  readonly megabytes: number;
  readonly threads: number;
  /** Megabytes per second that were copied and compared. */
  readonly rate: number | null;
}

/** Time per MiB that it takes beyond `seconds` to fill the memory at first and to compare it at the end. */
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
