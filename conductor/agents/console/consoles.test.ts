import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Consoles, createConsoles } from '#conductor/agents/console/consoles.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
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
      lock: (name) => database.lock(name),
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

/** An operator at the serial console through one of the conductors. */
async function sit(conductor: number): Promise<{ readonly said: string[]; leave(): Promise<void> }> {
  const accepted = once(server, 'connection') as Promise<[WebSocket]>;
  const operator = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const said: string[] = [];
  operator.on('message', (data: Buffer) => said.push(data.toString()));
  const [socket] = await accepted;
  const served = conductors[conductor]?.serve(socket, {
    nodeUuid: uuid,
    onlyOne: uuid,
    by: 'ada',
    user: 'ada',
    project: undefined,
    whyOver: () => Promise.resolve(undefined),
    whyForbidden: () => Promise.resolve(undefined),
    open: () =>
      Promise.resolve({
        ended: new Promise<string>(() => undefined),
        join: (joined) => joined.send('joined'),
        close: () => undefined,
      }),
  });
  await expect.poll(() => said.length, { timeout: 60_000 }).toBe(1);
  return {
    said,
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
