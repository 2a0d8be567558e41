import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createDrivers, type Drivers } from '#conductor/drivers/table/registry.ts';
import { endLeftSessions } from '#conductor/flows/background/end-left-sessions.ts';
import { bmcSessions } from '#conductor/kernel/db/schema/bmc-session.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { leaveSessionsOf, recordBmcSessions } from '#conductor/nodes/bmc-session-store.ts';
import { createLog, silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { createDraw } from '#test/support/draw.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const uuid = randomUUID();
const account = { username: 'admin', password: 'first' };
const { signal } = new AbortController();
const life = { conductorName: 'one', conductorTimeoutMs: 60_000 };
let bmc: RedfishSimulator;
let drivers: Drivers;
let logged = '';

/** A conductor starts; one that was not told to stop before is as if it had been killed. */
async function start(conductorName: string): Promise<void> {
  life.conductorName = conductorName;
  await db.update(conductors).set({ stoppedAt: sql`now()` });
  const row = { hostname: conductorName, drivers: [], publicUrl: '', stoppedAt: null };
  await db.insert(conductors).values(row).onConflictDoUpdate({ target: conductors.hostname, set: row });
  await leaveSessionsOf(db, conductorName);
  const config = { conductorName };
  const log = createLog({ component: 'test', only: { write: (line) => void (logged += line) } });
  const sessions = recordBmcSessions({ db, log, config });
  drivers = createDrivers({ run, log, secrets: testSecrets, sessions }, { redfish: { retryMs: 1 } });
}

beforeEach(async () => {
  logged = '';
  await db.execute(sql`truncate bmc_sessions`);
  bmc = await startRedfishSimulator({ machine: createMemoryMachine(), ...account });
  await start('one');
  return () => bmc.close();
});

const look = () =>
  drivers
    .connect({
      uuid,
      driver: 'redfish',
      powerHold: null,
      driverInfo: {
        redfish_address: bmc.address,
        redfish_username: account.username,
        redfish_password: account.password,
      },
    })
    .power.getPowerState();
const endLeft = () => endLeftSessions({ db, drivers, config: life }, signal);
const setAccount = (change: Partial<typeof account>): void => {
  Object.assign(account, change);
  bmc.setAccount(account.username, account.password);
};

test('after 100 changes of password and kills, the BMC has the one session that is used, and none at the end', async () => {
  const draw = createDraw(36);
  const changes = {
    'another password': (count: number) => setAccount({ password: `password-${count}` }),
    killed: () => start(life.conductorName),
    'killed, and another takes over': () => start(life.conductorName === 'one' ? 'two' : 'one'),
    'killed amid a change of password': async (count: number) => {
      setAccount({ password: `password-${count}` });
      await start(life.conductorName);
    },
  };
  for (let count = 0; count < 100; count += 1) {
    const name = draw.of(Object.keys(changes) as (keyof typeof changes)[]);
    await changes[name](count);
    await look();
    await endLeft();
    await expect.poll(() => bmc.sessionCount(), { message: `${count}: ${name}` }).toBe(1);
  }
  await drivers.close();
  expect(bmc.counters.logins).toBeGreaterThan(90);
  expect(bmc.sessionCount()).toBe(0);
  expect(await db.select().from(bmcSessions)).toEqual([]);
});

test('the session of a conductor that lives is left alone, and that of one whose BMC is not reached stays on record', async () => {
  await look();
  const first = drivers;
  const other = { ...life, conductorName: 'two' };
  await endLeftSessions({ db, drivers, config: other }, signal);
  expect(bmc.sessionCount()).toBe(1);

  await start('two');
  await endLeft();
  expect(await db.select({ conductor: bmcSessions.conductor }).from(bmcSessions)).toEqual([{ conductor: 'one' }]);
  await look();
  await endLeft();
  expect(bmc.sessionCount()).toBe(1);
  expect(logged).toContain('a session that a conductor had left at a BMC is ended');
  await first.close();
  await drivers.close();
  expect(await db.select().from(bmcSessions)).toEqual([]);
});

test('a BMC that was restarted and gives the path again has one row, of whom it is now', async () => {
  const session = { origin: 'http://bmc', path: '/s/1', username: 'admin' };
  const config = (conductorName: string) => ({ db, log: silentLog, config: { conductorName } });
  await recordBmcSessions(config('two')).opened(session);
  await leaveSessionsOf(db, 'two');
  await recordBmcSessions(config('one')).opened(session);
  await recordBmcSessions(config('two')).ended(session);
  expect(await db.select().from(bmcSessions)).toMatchObject([{ ...session, conductor: 'one', leftAt: null }]);
});
