import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PatroniLab, startPatroniLab } from '#test/support/patroni-lab.ts';

/** Patroni decides which database server leads, amid deploys and allocations: automatically, and when it is asked to. */

let lab: PatroniLab;
beforeAll(async () => {
  lab = await startPatroniLab();
});
afterAll(() => lab.close());

/** Something was answered, all of it is there, and nothing was done twice. */
async function disturb(strike: () => Promise<unknown>): Promise<void> {
  const came = await lab.disturb(strike);
  expect(came).toMatchObject({ lost: [], doubled: [], held: [], causes: {} });
  expect(came.answered).toBeGreaterThan(0);
}

test('the leader dies with its Patroni: the standby leads, what was answered stays, nothing is done twice', async () => {
  const { pair } = lab;
  const state = { killed: '' };
  const strike = async () => {
    state.killed = await pair.killLeader();
  };
  await disturb(strike);
  pair.start(state.killed);
  const leader = await pair.synchronous();
  expect(leader).not.toBe(state.killed);

  // the one that was killed follows now, and has all: it leads when the other dies
  await disturb(strike);
  expect(state.killed).toBe(leader);
  pair.start(state.killed);
  expect(await pair.synchronous()).not.toBe(leader);
});

test('patronictl switchover: the same', async () => {
  const { pair } = lab;
  const leader = await pair.synchronous();
  await disturb(() => pair.switchOver());
  expect(await pair.synchronous()).not.toBe(leader);
});
