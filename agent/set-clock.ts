import type { Say } from '#agent/say.ts';
import type { Clock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** What is less wrong does no harm, and `Date` counts whole seconds. */
const toleratedMs = 60_000;

/**
 * Puts the machine's clock right where it is off by more than a minute, so that the certificates of image servers can
 * be checked and logs have the right time. A failure is only logged: on most machines nothing depends on it.
 * @param errorMs how much the clock is behind the API's, in milliseconds; `undefined` when the API sends no time
 */
export async function setClock(
  errorMs: number | undefined,
  { run, clock, log, say }: { readonly run: Run; readonly clock: Clock; readonly log: Log; readonly say: Say },
): Promise<void> {
  if (errorMs === undefined || Math.abs(errorMs) <= toleratedMs) return;
  const wrong = clock.now();
  const right = new Date(wrong.getTime() + errorMs);
  try {
    await run('date', ['-s', `@${Math.round(right.getTime() / 1000)}`]);
    log.warn({ errorMs, at: right }, 'clock set by the API');
    say(`the clock said ${seconds(wrong)}, set to ${seconds(right)} by the API`);
  } catch (error) {
    log.warn({ err: error, errorMs }, 'the clock can not be set');
    say(`the clock says ${seconds(wrong)}, not ${seconds(right)}, and can't be set: ${errorChain(error)}`);
  }
}

/** `2026-11-21T10:00:00Z` */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+/, '');
}
