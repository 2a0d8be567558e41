import { expect, test } from 'vitest';
import { type RepeatOptions, type Round, repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

const options = (more: Partial<RepeatOptions> = {}): RepeatOptions => ({
  what: 'work',
  timeoutMs: 240_000,
  everyMs: 20,
  signal: new AbortController().signal,
  ...more,
});
const done: Round = { state: 'done', messages: [{ message: 'well', error: false }] };
const waiting: Round = { state: 'waiting', reason: 'not yet', messages: [{ message: 'p is there', error: true }] };

/** Plays the rounds in turn, the last one again and again. */
function play(...rounds: (Round | Error)[]): { round: () => Promise<Round>; count: () => number } {
  let count = 0;
  return {
    round: () => {
      const next = rounds[Math.min(count, rounds.length - 1)];
      count += 1;
      return next instanceof Error || next === undefined
        ? Promise.reject(next ?? new Error('none'))
        : Promise.resolve(next);
    },
    count: () => count,
  };
}

test('it repeats until one is done, and gives its messages', async () => {
  const rounds = play(waiting, waiting, done);
  expect(await repeatRounds(rounds.round, options())).toEqual(done.messages);
  expect(rounds.count()).toBe(3);
});

test('what may pass is tried again, what does not ends it', async () => {
  const away = new AppError('unavailable', 'no answer');
  expect(await repeatRounds(play(away, waiting, away, done).round, options())).toEqual(done.messages);
  const refused = new AppError('conflict', 'quorum');
  await expect(repeatRounds(play(waiting, refused).round, options())).rejects.toBe(refused);
});

test('a change rings: nobody waits for the next look', async () => {
  const rounds = play(waiting, done);
  await repeatRounds(
    rounds.round,
    options({ everyMs: 3_600_000, timeoutMs: 7_200_000, watch: (_, changed) => changed() }),
  );
  expect(rounds.count()).toBe(2);
});

test('at the end of its time it tells the last messages and the last error', async () => {
  const away = new AppError('unavailable', 'no answer');
  // long enough for a second round on any machine
  await expect(repeatRounds(play(waiting, away).round, options({ timeoutMs: 2_000 }))).rejects.toMatchObject({
    code: 'timeout',
    message: 'work has not ended within 2 s: not yet',
    cause: away,
    details: { messages: [...waiting.messages, { message: 'no answer', error: true }] },
  });
});

test('a cluster that was never reached is reported as such: nothing was begun', async () => {
  const round = () => Promise.reject(new AppError('unavailable', 'no route', { retryable: true }));
  await expect(repeatRounds(round, options({ timeoutMs: 50 }))).rejects.toMatchObject({
    code: 'timeout',
    details: { cause: 'NothingBegun' },
  });
});

test('a round that hangs is cut off when time is up', async () => {
  const round = (signal: AbortSignal): Promise<Round> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new AppError('aborted', 'given up')));
    });
  await expect(repeatRounds(round, options({ timeoutMs: 50 }))).rejects.toMatchObject({ code: 'timeout' });
});

test('who leaves ends it, and the watch with it', async () => {
  const leaving = new AbortController();
  const watched = Promise.withResolvers<AbortSignal>();
  const running = repeatRounds(
    play(waiting).round,
    options({ signal: leaving.signal, watch: (signal) => watched.resolve(signal) }),
  );
  leaving.abort(new Error('hung up'));
  await expect(running).rejects.toMatchObject({ code: 'aborted' });
  expect((await watched.promise).aborted).toBe(true);
});
