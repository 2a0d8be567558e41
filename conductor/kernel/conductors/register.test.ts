import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findConductor } from '#conductor/kernel/conductors/conductor-store.ts';
import { joinRegister, type RegisterOptions } from '#conductor/kernel/conductors/register.ts';
import type { Register } from '#conductor/kernel/context.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import type { SessionLock } from '#conductor/kernel/db/session/session-locks.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
const open: Register[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  await database.db.execute(sql`truncate conductors`);
});

async function join(name: string, more: Partial<RegisterOptions> = {}): Promise<Register> {
  const register = await joinRegister({
    config: {
      conductorName: name,
      conductorGroup: 'left',
      conductorHeartbeatMs: 5,
      conductorTimeoutMs: 60_000,
      publicUrl: `http://${name}.example`,
    },
    database,
    drivers: ['redfish'],
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    ...more,
  });
  open.push(register);
  return register;
}

const read = (name: string) => findConductor(database.db, name, 60_000);
const hostnames = async (register: Register) => (await register.live()).map(({ hostname }) => hostname);
const age = (name: string, seconds: number) =>
  database.db.execute(
    sql`update conductors set updated_at = now() - make_interval(secs => ${seconds}) where hostname = ${name}`,
  );

/** A name that another process holds. */
const held: SessionLock = {
  take: () => Promise.resolve(false),
  release: () => Promise.resolve(),
};
const impatient = { now: () => new Date(), sleep: () => Promise.resolve() };

test('who has joined is alive until good-bye, and says so again and again', async () => {
  const first = await join('first');
  const second = await join('second');
  expect(await read('first')).toMatchObject({
    conductorGroup: 'left',
    drivers: ['redfish'],
    generation: 1,
    alive: true,
  });
  await age('first', 3600);
  await expect.poll(async () => (await read('first'))?.alive).toBe(true);
  await expect.poll(() => hostnames(second)).toEqual(['first', 'second']);

  await first.leave();
  expect(await read('first')).toMatchObject({ alive: false });
  await expect.poll(() => hostnames(second)).toEqual(['second']);
  await expect.poll(() => hostnames(first)).toEqual(['second']);
});

test('who gives no sign of life is dead to others, and to itself the one that answers', async () => {
  const silent = await join('silent', { clock: { ...impatient, sleep: () => new Promise(() => undefined) } });
  const other = await join('other');
  await age('silent', 61);
  await expect.poll(() => hostnames(other)).toEqual(['other']);
  await expect.poll(() => hostnames(silent)).toEqual(['silent', 'other']);
  open.splice(open.indexOf(silent), 1); // it sleeps for ever
});

test('a second process with the name of a living one is refused, and told what to change', async () => {
  await join('twin');
  const taken = { ...database, lock: () => held };
  await expect(join('twin', { database: taken, clock: impatient })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^BATON_CONDUCTOR_NAME: .*twin.*http:\/\/twin\.example/),
  });
  expect(await read('twin')).toMatchObject({ generation: 1 });
});

test('a name whose process has given no sign of life is free, and the process ends when it wakes up', async () => {
  const former = await join('lazarus');
  await age('lazarus', 61);
  await database.db.execute(sql`update conductors set generation = 7 where hostname = 'lazarus'`);
  await age('lazarus', 61);
  const successor = await join('lazarus', { database: { ...database, lock: () => held } });
  expect(await read('lazarus')).toMatchObject({ generation: 8, alive: true });
  expect(await former.superseded).toMatchObject({ message: expect.stringContaining('lazarus') });
  // and its good-bye is not the other's
  await former.leave();
  await expect.poll(() => hostnames(successor)).toEqual(['lazarus']);
});
