import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { createSessionLocks } from '#conductor/kernel/db/session/session-locks.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorPair, deployedDisk, startConductorPair } from '#test/support/conductor-pair.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

/**
 * Settings under which no lease runs out and no heartbeat is missed for a day, whatever a conductor suffers beside
 * being killed.
 */

const settings = { BATON_LEASE_SECONDS: '86400', BATON_CONDUCTOR_TIMEOUT: '86400' };
const died = 'a conductor has died';

let pair: ConductorPair;
beforeEach(async () => {
  pair = await startConductorPair({ machines: 4, stepMs: 50, settings });
  onTestFailed(() => {
    for (const each of [pair.first, pair.second]) process.stderr.write(`---\n${each.log().slice(-4000)}\n`);
  });
});
afterEach(() => pair.close());

const isAlive = async (hostname: string): Promise<boolean> => {
  const { conductors } = (await pair.operator.call('GET', '/v1/conductors')) as {
    conductors: { hostname: string; alive: boolean }[];
  };
  return conductors.find((each) => each.hostname === hostname)?.alive === true;
};
const doneByFirst = async () =>
  (await pair.database.query("select count(*)::int from flow_events where conductor = 'first'")).rows;
async function waitForDeploys(): Promise<void> {
  for (const name of pair.names) await pair.operator.waitForState(name, 'active');
}
function expectEachDoneOnce(): void {
  expect(pair.machines.map(({ disk }) => disk)).toEqual(pair.machines.map(() => deployedDisk));
  expect(pair.machines.map((machine) => machine.state())).toEqual(
    pair.machines.map(() => ({ power: 'on', runs: 'instance' })),
  );
  expect(pair.machines.map((machine) => machine.boots())).toEqual(pair.machines.map(() => 2));
}

test('frozen: others go on, and it does nothing when it wakes up', async () => {
  const { first, second } = pair;
  await pair.pauseAtWork();
  await waitForDeploys();
  expect(second.log()).toContain(died);
  const recorded = await doneByFirst();
  process.kill(first.pid(), 'SIGCONT');
  await waitUntil('it to live again', async () => (await isAlive('first')) || undefined);
  expectEachDoneOnce();
  expect(await doneByFirst()).toEqual(recorded);
});

test('partitioned: it stops by itself, others go on, and it comes back when the cable does', async () => {
  const { first, way } = pair;
  await pair.pauseAtWork();
  way.cutCable();
  process.kill(first.pid(), 'SIGCONT');
  await waitForDeploys();
  const recorded = await doneByFirst();
  const silent = async () => {
    const answer = await fetch(`${first.url}/readyz`);
    return (answer.status === 503 && (await answer.text()).includes('other conductors may take over')) || undefined;
  };
  await waitUntil('it to say that it is on its own', silent);
  way.plugIn();
  await waitUntil('it to live again', async () => (await isAlive('first')) || undefined);
  await waitUntil('it to be ready', async () => (await fetch(`${first.url}/readyz`)).ok || undefined);
  expectEachDoneOnce();
  expect(await doneByFirst()).toEqual(recorded);
});

test('power cut: a session that nobody ended', async () => {
  const { first, way, second } = pair;
  await pair.pauseAtWork();
  way.cutCable();
  await first.kill('SIGKILL');
  await waitForDeploys();
  expectEachDoneOnce();
  expect(second.log()).toContain(died);
});

test('a disk on which no commit ends: nobody takes anything from anybody', async () => {
  const { first, second, database } = pair;
  await pair.pauseAtWork();
  // reads and settings go on; what waits for a standby that is not there waits as for a disk
  await database.query("alter system set synchronous_standby_names = 'nobody'");
  await database.query('alter system set synchronous_commit = on');
  await database.query('select pg_reload_conf()');
  process.kill(first.pid(), 'SIGCONT');
  const { rows } = await database.query<{ since: string }>('select now()::text as since');
  const isLong = async () => {
    const answer = await database.query(
      "select from (select now() > $1::timestamptz + interval '15 s' as ok) t where ok",
      [rows[0]?.since],
    );
    return answer.rowCount === 1 || undefined;
  };
  await waitUntil('commits to have waited for longer than any silence may last', isLong);
  await database.query('alter system reset synchronous_standby_names');
  await database.query('select pg_reload_conf()');
  await waitForDeploys();
  expectEachDoneOnce();
  expect(second.log()).not.toContain(died);
  expect(first.log()).not.toContain('other conductors may take over');
});

test('connections that are cut, all at once and again and again, are no death', async () => {
  const { first, second, database } = pair;
  await pair.pauseAtWork();
  process.kill(first.pid(), 'SIGCONT');
  for (let round = 0; round < 5; round += 1) {
    const cut = async () => {
      const { rowCount } = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name <> 'test'`,
      );
      return (rowCount ?? 0) > 1 || undefined;
    };
    await waitUntil('connections', cut, { everyMs: 100 });
  }
  await waitForDeploys();
  expectEachDoneOnce();
  for (const each of [first, second]) expect(each.log()).not.toContain(died);
});

let made: TestDatabase;
beforeAll(async () => {
  made = await makeTestDatabase();
});
afterAll(() => made.drop());

test('a main thread that is busy for longer than any silence may last keeps its locks and its life', async () => {
  const [busy, other] = [createSessionLocks(made.url), createSessionLocks(made.url)];
  const lost: string[] = [];
  const name = busy.lock('conductor busy', () => lost.push('lost'));
  expect(await name.take()).toBe(true);
  busy.beginLife();
  expect(() => busy.life.requireAlive()).toThrow(/no answer/);
  await busy.count();
  await waitUntil('it to live', () => !busy.life.signal().aborted || undefined, { everyMs: 20 });
  busy.life.requireAlive();
  const signal = busy.life.signal();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000);
  busy.life.requireAlive();
  expect(signal.aborted).toBe(false);
  expect(await other.lock('conductor busy').take()).toBe(false);
  expect(lost).toEqual([]);
  await busy.close();
  await expect.poll(() => other.lock('conductor busy').take()).toBe(true);
  await other.close();
});
