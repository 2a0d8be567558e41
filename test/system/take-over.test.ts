import { afterEach, expect, onTestFailed, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorPair, deployedDisk, startConductorPair } from '#test/support/conductor-pair.ts';

/** A conductor dies: its work goes on elsewhere though no lease runs out and no heartbeat is missed for a day. */

const settings = { BATON_LEASE_SECONDS: '86400', BATON_CONDUCTOR_TIMEOUT: '86400' };

let pair: ConductorPair;
afterEach(() => pair.close());

test('what a killed conductor was at goes on at once, and nothing is done twice', async () => {
  pair = await startConductorPair({ machines: 4, stepMs: 50, settings });
  const { first, second, operator, machines, names, database } = pair;
  onTestFailed(() => void process.stderr.write(second.log().slice(-4000)));
  const held = await pair.pauseAtWork();
  await first.kill('SIGKILL');
  for (const name of names) await operator.waitForState(name, 'active');
  expect(held.length).toBeGreaterThan(0);
  expect(machines.map(({ disk }) => disk)).toEqual(machines.map(() => deployedDisk));
  expect(machines.map((machine) => machine.boots())).toEqual(machines.map(() => 2));
  const gone = async () => {
    const { rows } = await database.query("select from conductors where hostname = 'first' and stopped_at is not null");
    return rows.length > 0 || undefined;
  };
  await waitUntil('it to count as dead', gone);
  expect(second.log()).toContain('a conductor has died');

  // its name is free at once, and it lives again
  await first.start();
  const { conductors } = (await operator.call('GET', '/v1/conductors')) as { conductors: object[] };
  expect(conductors).toMatchObject([
    { hostname: 'first', alive: true },
    { hostname: 'second', alive: true },
  ]);
});
