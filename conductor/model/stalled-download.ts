import { type Fault, isSituation } from '#shared/errors/fault-codes.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** Seconds without a byte from which a download counts as slow. */
export const stillSeconds = 60;

/** A download that does not go on: how, in words, and its code. */
export interface StalledDownload {
  readonly fault: Fault;
  readonly reason: string;
  /** A try has failed, and another follows. */
  readonly isRetried: boolean;
  readonly tries: number;
}

/** Reads from a step's progress whether its download does not go on; `undefined` = it does, or nothing is said. */
export function stalledDownload(progress: unknown): StalledDownload | undefined {
  // the board reads it too, whose page has no schemas
  const said: Partial<Record<keyof Progress, unknown>> =
    typeof progress === 'object' && progress !== null ? progress : {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const [error, subject, situation = ''] = [text(said.last_error), text(said.subject), text(said.situation)];
  const [tries, still] = [number(said.tries), number(said.still_seconds)];
  if (error === undefined && still < stillSeconds) return undefined;
  const code = isSituation(situation) ? situation : 'image_stalled';
  const since = still === 0 ? '' : `no byte of the image has come for ${still} s`;
  const failed = error === undefined ? '' : `try ${tries} failed: ${error}`;
  return {
    fault: subject === undefined ? { code } : { code, subject },
    reason: [since, failed].filter((part) => part !== '').join('; '),
    isRetried: error !== undefined,
    tries,
  };
}
