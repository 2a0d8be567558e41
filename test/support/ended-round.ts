import type { Round } from '#conductor/cluster/repeat-rounds.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { refusal } from '#test/support/etcd-rounds.ts';

/**
 * Rounds until one comes to something, as a conductor makes them: on a busy machine etcd's members lose their leader at
 * times, and a round of just then does nothing but wait for the next. Answers its state and words, or what was thrown.
 */
export function endedRound(round: () => Promise<Round>): Promise<string> {
  const look = async (): Promise<string | undefined> => {
    const reported = await refusal(round());
    return reported.startsWith('waiting: ') ? undefined : reported;
  };
  return waitUntil('a round that waits for nothing', look, { timeoutMs: 240_000, everyMs: 50 });
}
