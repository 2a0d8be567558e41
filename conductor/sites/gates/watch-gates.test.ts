import { expect, test } from 'vitest';
import { watchGates } from '#conductor/sites/gates/watch-gates.ts';
import type { GateAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';

const gate = (name: string) => ({ name, http: `http://${name}.example/`, hold_seconds: 0, patience_seconds: 0 });
const api = { group: 'g', gates: [gate('api')] };

/** A watch whose questions are answered by hand, and whose time is. */
function stage() {
  const state = { now: 0, rings: 0 };
  const open: { answer: (given: GateAnswer) => Promise<void>; fail: () => Promise<void>; signal: AbortSignal }[] = [];
  const watch = watchGates({
    ask: (_question, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<GateAnswer>();
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      const settled = () => promise.then(() => undefined).catch(() => undefined);
      open.push({
        signal,
        answer: (given) => {
          resolve(given);
          return settled();
        },
        fail: () => {
          reject(new Error('out of order'));
          return settled();
        },
      });
      return promise;
    },
    now: () => state.now,
    changed: () => void (state.rings += 1),
  });
  const lookAt = (ms: number, asked = [api]) => {
    state.now = ms;
    return watch.look(asked).get('g')?.get('api');
  };
  return { watch, open, state, lookAt };
}
const good: GateAnswer = { isGood: true, said: 'HTTP 200' };
const bad: GateAnswer = { isGood: false, said: 'HTTP 503' };

test('asks every five seconds, one question at a time; a row of like answers begins with its first', async () => {
  const { open, lookAt, state } = stage();
  expect(lookAt(0)).toBeUndefined();
  expect(lookAt(60_000)).toBeUndefined();
  expect(open).toHaveLength(1);
  await open[0]?.answer(good);
  expect(lookAt(61_000)).toMatchObject({ state: 'good', since: 60_000 });
  await open[1]?.answer({ ...good, said: 'HTTP 204' });
  expect(lookAt(62_000)).toEqual({ state: 'good', since: 60_000, said: 'HTTP 200', lastSaid: 'HTTP 204' });
  expect(open).toHaveLength(2);
  lookAt(66_000);
  await open[2]?.answer(bad);
  expect(lookAt(66_500)).toMatchObject({ state: 'bad', since: 66_000 });
  expect(state.rings).toBe(2);
});

test('a gate that a look leaves out is forgotten, with the answer that still comes', async () => {
  const { open, lookAt } = stage();
  lookAt(0);
  await open[0]?.answer(good);
  lookAt(5_000);
  lookAt(5_100, []);
  await open[1]?.answer(good);
  expect(lookAt(5_200)).toBeUndefined();
  await open[2]?.answer(good);
  expect(lookAt(5_300)).toMatchObject({ since: 5_200 });
});

test('answers with a long gap between them do not make a row', async () => {
  const { open, lookAt } = stage();
  lookAt(0);
  await open[0]?.answer(good);
  lookAt(3_600_000);
  await open[1]?.answer(good);
  expect(lookAt(3_600_001)).toMatchObject({ since: 3_600_000 });
});

test('a question that fails is an answer that is not good; stop breaks off what is asked', async () => {
  const { watch, open, lookAt } = stage();
  lookAt(0);
  await open[0]?.fail();
  expect(lookAt(1)).toMatchObject({ state: 'bad', said: 'Error: out of order' });
  lookAt(5_000);
  await watch.stop();
  expect(open[1]?.signal.aborted).toBe(true);
});
