import { afterEach, expect, test } from 'vitest';
import { startWakeLoop, type WakeLoop, type WakeLoopOptions } from '#conductor/kernel/wake-loop.ts';

let loop: WakeLoop;
afterEach(() => loop.stop());

const long = 60_000;
const unexpected = (error: unknown): never => {
  throw error;
};

/** A loop whose rounds the test ends; each is counted. */
function start(options: Partial<WakeLoopOptions> = {}) {
  const rounds: PromiseWithResolvers<number>[] = [];
  const run = ({ signal }: { readonly signal: AbortSignal }) => {
    const round = Promise.withResolvers<number>();
    signal.addEventListener('abort', () => round.reject(signal.reason as Error));
    rounds.push(round);
    return round.promise;
  };
  loop = startWakeLoop({ run, onError: unexpected, ...options });
  const isIdle = () => Promise.race([loop.idle().then(() => true), new Promise((end) => setImmediate(end, false))]);
  return { rounds, isIdle };
}

test('begins at once, and again after the rest it asks for', async () => {
  const { rounds } = start();
  rounds[0]?.resolve(5);
  await expect.poll(() => rounds).toHaveLength(2);
  rounds[1]?.resolve(0);
  await expect.poll(() => rounds).toHaveLength(3);
});

test('a nudge ends the rest; any number during a round make one more', async () => {
  const { rounds, isIdle } = start();
  loop.nudge();
  loop.nudge();
  expect(await isIdle()).toBe(false);
  rounds[0]?.resolve(long);
  await expect.poll(() => rounds).toHaveLength(2);
  expect(await isIdle()).toBe(false);
  rounds[1]?.resolve(long);
  await loop.idle();
  expect(rounds).toHaveLength(2);
  loop.nudge();
  expect(await isIdle()).toBe(false);
  expect(rounds).toHaveLength(3);
  rounds[2]?.resolve(long);
  await loop.idle();
});

test('after an error it rests for as long as it is told, which grows with their number', async () => {
  const failures: number[] = [];
  const onError = (_: unknown, count: number) => {
    failures.push(count);
    return 1;
  };
  const { rounds } = start({ onError });
  for (const index of [0, 1]) {
    rounds[index]?.reject(new Error('broken'));
    await expect.poll(() => rounds).toHaveLength(index + 2);
  }
  rounds[2]?.resolve(1);
  await expect.poll(() => rounds).toHaveLength(4);
  rounds[3]?.reject(new Error('broken'));
  await expect.poll(() => failures).toEqual([1, 2, 1]);
});

test('a stop ends a rest, or the round under way, and waits for it', async () => {
  const { rounds } = start();
  rounds[0]?.resolve(long);
  await loop.idle();
  await loop.stop();
  const other = start();
  await loop.stop();
  await loop.idle();
  loop.nudge();
  expect(other.rounds).toHaveLength(1);
});
