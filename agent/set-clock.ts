import type { Say } from '#agent/say.ts';
import type { Clock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** Tolerated difference: less does no harm, and `Date` counts whole seconds. */
const toleratedMs = 60_000;

/** Services that set the clock. */
interface ClockServices {
  readonly run: Run;
  readonly clock: Clock;
  readonly log: Log;
  readonly say: Say;
}

/**
 * Puts the machine's clock right where it is off by more than a minute, so that the certificates of image servers can
 * be checked and logs have the right time. A failure is only logged: on most machines nothing depends on it.
 * @param errorMs how much the clock is behind the API's, in milliseconds; `undefined` when the API sends no time
 * @param by who says so, as it is shown
 */
export async function setClock(
  errorMs: number | undefined,
  { run, clock, log, say }: ClockServices,
  by = 'the API',
): Promise<void> {
  if (errorMs === undefined || Math.abs(errorMs) <= toleratedMs) return;
  const wrong = clock.now();
  const right = new Date(wrong.getTime() + errorMs);
  try {
    await run('date', ['-s', `@${Math.round(right.getTime() / 1000)}`]);
    log.warn({ errorMs, at: right, by }, 'clock set');
    say(`the clock said ${seconds(wrong)}, set to ${seconds(right)} by ${by}`);
  } catch (error) {
    log.warn({ err: error, errorMs }, 'the clock can not be set');
    say(`the clock says ${seconds(wrong)}, not ${seconds(right)}, and can't be set: ${errorChain(error)}`);
  }
}

/**
 * Sets a clock that is behind forward: never back, so that a server that lies can't bring an expired certificate back
 * to life.
 */
export async function raiseClock(time: Date | undefined, services: ClockServices, by: string): Promise<void> {
  const behindMs = time === undefined ? 0 : time.getTime() - services.clock.now().getTime();
  if (behindMs > 0) await setClock(behindMs, services, by);
}

/**
 * The day on which the running kernel was built, before which no machine runs this ramdisk: by `/proc/version`, which ends
 * with `(2025-10-05)` or `Sun Oct  5 12:00:00 UTC 2025`. `undefined` for a kernel that doesn't say. Pure.
 */
export function readKernelDate(version: string): Date | undefined {
  const [, day] = /\((\d{4}-\d{2}-\d{2})\)\s*$/.exec(version) ?? [];
  const [, moment] = /\b([A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} (?:UTC )?\d{4})\s*$/.exec(version) ?? [];
  const date = new Date(day ?? (moment === undefined ? '' : moment.replace(/UTC (\d{4})/, '$1 UTC')));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** `2026-11-21T10:00:00Z` */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+/, '');
}
