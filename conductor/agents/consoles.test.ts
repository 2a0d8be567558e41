import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Consoles, createConsoles } from '#conductor/agents/consoles.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { nodeHistory, nodes } from '#conductor/kernel/db/schema/node.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

const uuid = crypto.randomUUID();
let made: TestDatabase;
const databases: Database[] = [];
let conductors: readonly Consoles[];
let server: WebSocketServer;

beforeAll(async () => {
  made = await makeTestDatabase();
  for (const _ of [1, 2]) {
    databases.push(await openDatabase({ url: made.url, dataDirectory: '', log: silentLog }));
  }
  conductors = databases.map((database, index) =>
    createConsoles({
      db: database.db,
      lock: database.lock,
      clock: systemClock,
      log: silentLog,
      conductorName: `conductor-${index}`,
    }),
  );
  await databases[0]?.db
    .insert(nodes)
    .values({ uuid, driver: 'redfish', networkInterface: 'noop', provisionState: 'active' });
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  for (const database of databases) await database.close();
  await made.drop();
});

interface Sitting {
  readonly said: string[];
  /** Reasons that the machine's side was closed with. */
  readonly closedBecause: string[];
  readonly served: Promise<void> | undefined;
  leave(): Promise<void>;
}

/** An operator at a node's serial console through one of the conductors. */
async function sit(conductor: number, only: string = uuid): Promise<Sitting> {
  const accepted = once(server, 'connection') as Promise<[WebSocket]>;
  const operator = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const said: string[] = [];
  const closedBecause: string[] = [];
  operator.on('message', (data: Buffer) => said.push(data.toString()));
  const [socket] = await accepted;
  const served = conductors[conductor]?.serve(socket, {
    nodeUuid: uuid,
    onlyOne: only,
    by: 'ada',
    user: 'ada',
    project: undefined,
    whyOver: () => Promise.resolve(undefined),
    whyForbidden: () => Promise.resolve(undefined),
    open: () =>
      Promise.resolve({
        ended: new Promise<string>(() => undefined),
        join: (joined) => joined.send('joined'),
        close: (reason) => void closedBecause.push(reason),
      }),
  });
  await expect.poll(() => said.length).toBe(1);
  return {
    said,
    closedBecause,
    served,
    leave: async () => {
      operator.close();
      await served;
    },
  };
}

test('a machine has one serial console at a time, through whichever conductor', async () => {
  const first = await sit(0);
  expect(first.said).toEqual(['joined']);
  const second = await sit(1);
  expect(second.said).toEqual([expect.stringContaining('in use through another conductor')]);
  await second.leave();
  await first.leave();
  const third = await sit(1);
  expect(third.said).toEqual(['joined']);
  await third.leave();
});

/** Reads the connections that hold the consoles' locks. */
async function connections(): Promise<readonly { pid: number; locks: number }[]> {
  const found = await databases[0]?.db.execute(sql`select pid, count(*)::int as locks
    from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and granted and datname = current_database() group by pid`);
  return rowsOf(found) as { pid: number; locks: number }[];
}

test('many serial consoles hold one connection to the database, and leave no lock', async () => {
  const sitting: Sitting[] = [];
  while (sitting.length < 30) sitting.push(await sit(0, crypto.randomUUID()));
  expect(sitting.map(({ said }) => said)).toEqual(sitting.map(() => ['joined']));
  expect(await connections()).toMatchObject([{ locks: 30 }]);
  for (const each of sitting) await each.leave();
  await expect.poll(connections).toEqual([]);
});

test('a console ends with the connection that keeps it the only one', async () => {
  const first = await sit(0);
  const [{ pid } = { pid: 0 }] = await connections();
  await databases[1]?.db.execute(sql`select pg_terminate_backend(${pid})`);
  await first.served;
  const why = 'the conductor lost its connection to the database, by which there is only one';
  expect(first.closedBecause).toEqual([why]);
  await expect.poll(() => first.said).toEqual(['joined', expect.stringContaining(why)]);
  const events = await databases[0]?.db.select({ event: nodeHistory.event }).from(nodeHistory);
  expect(events?.filter(({ event }) => event.includes(why))).toHaveLength(1);
  // a connection says that it ends before the server lets go of its locks
  await expect.poll(connections).toEqual([]);
  for (const conductor of [1, 0]) {
    const next = await sit(conductor);
    expect(next.said).toEqual(['joined']);
    await next.leave();
  }
});
