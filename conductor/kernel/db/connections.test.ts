import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { eq, sql } from 'drizzle-orm';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Connections, openConnections } from '#conductor/kernel/db/connections.ts';
import { isConnectionLost } from '#conductor/kernel/db/faults.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { rowsOf, statement } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

let database: TestDatabase;
let admin: Client;

beforeAll(async () => {
  database = await makeTestDatabase();
  admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query('create table written (word text primary key)');
});
afterAll(async () => {
  await admin.end();
  await database.drop();
});

function connect(options: { readonly onError?: (error: unknown) => void } = {}): Connections {
  const connections = openConnections(database.url, { answerMs: 60_000, ...options });
  onTestFinished(() => connections.close());
  return connections;
}

const words = async (): Promise<unknown[]> => {
  const { rows } = await admin.query<{ word: string }>('select word from written order by word');
  await admin.query('delete from written');
  return rows.map(({ word }) => word);
};
const write = (word: string) => sql`insert into written values (${word})`;
const terminate = (pid: unknown) => admin.query('select pg_terminate_backend($1)', [pid]);

test('connections have their settings, whatever those of the server are', async () => {
  await admin.query("do $$ begin execute format('alter database %I set jit = on', current_database()); end $$");
  const { db } = connect();
  const settings = sql`select current_setting('jit') as jit, current_setting('random_page_cost') as page`;
  expect(rowsOf(await db.execute(settings))).toEqual([{ jit: 'off', page: '1.1' }]);
});

test('a transaction whose connection is cut while others wait for the pool writes nothing, also not later', async () => {
  const { db } = connect();
  const busy = Promise.withResolvers<void>();
  const inside = Promise.withResolvers<void>();
  const cut = db.transaction(async (tx) => {
    const [own] = rowsOf(await tx.execute(sql`select pg_backend_pid() as pid`)) as { pid: number }[];
    await tx.execute(write('first'));
    inside.resolve();
    await busy.promise;
    await terminate(own?.pid);
    // each is tried, whatever became of the one before
    const outcomes = [];
    for (const word of ['second', 'third', 'fourth'])
      outcomes.push(await Promise.allSettled([tx.execute(write(word))]));
    expect(outcomes.flat().map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
  await inside.promise;
  // more than the pool has connections, so that some wait for the one that is cut
  const others = Array.from({ length: 24 }, (_, index) =>
    db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await busy.promise;
      await tx.execute(write(`other ${String(index).padStart(2, '0')}`));
    }),
  );
  await expect
    .poll(
      async () =>
        (
          await admin.query(
            "select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
          )
        ).rowCount,
    )
    .toBe(10);
  busy.resolve();
  await expect(cut).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  await Promise.all(others);
  expect(await words()).toEqual(Array.from({ length: 24 }, (_, index) => `other ${String(index).padStart(2, '0')}`));
});

test('statements sent together stay in their transaction when one of them fails', async () => {
  const { db } = connect();
  const failing = db.transaction((tx) =>
    allTogether([tx.execute(write('a')), tx.execute(sql`select 1 / 0`), tx.execute(write('b'))]),
  );
  await expect(failing).rejects.toMatchObject({ cause: { code: '22012' } });
  expect(await words()).toEqual([]);
});

test('of statements sent together those after the one that fails have its error, and can be sent again', async () => {
  const { db } = connect();
  const select = (word: string) =>
    statement<{ n: number }>((value) => sql`select ${value('n')}::int, ${sql.raw(`'${word}'`)}`);
  const [before, after] = [select('before'), select('after')];
  const fails = statement<{ n: number }>((value) => sql`select 1 / ${value('n')}::int`);
  const asked: Promise<unknown>[] = [];
  const failing = db.transaction((tx) => {
    asked.push(before(tx, { n: 1 }), fails(tx, { n: 0 }), after(tx, { n: 2 }));
    return Promise.allSettled(asked);
  });
  await expect(failing).rejects.toMatchObject({ code: '22012' });
  const failure = { status: 'rejected', reason: { cause: { code: '22012' } } };
  expect(await Promise.allSettled(asked)).toMatchObject([{ status: 'fulfilled' }, failure, failure]);
  // the connection that has just been given back is the next one's
  const again = await db.transaction((tx) => allTogether([before(tx, { n: 3 }), after(tx, { n: 3 })]));
  expect(again).toEqual([[[3, 'before']], [[3, 'after']]]);
});

test('a transaction that is given up ends when what was asked in it has its answer', async () => {
  const { db } = connect();
  const insert = statement<{ word: string }>((value) => sql`insert into written values (${value('word')})`);
  const asked: Promise<unknown>[] = [];
  const given = db.transaction((tx) => {
    asked.push(insert(tx, { word: 'a' }));
    return Promise.reject(new Error('changed my mind'));
  });
  await expect(given).rejects.toThrow('changed my mind');
  expect(await Promise.all(asked)).toEqual([[]]);
  expect(await words()).toEqual([]);
});

test('a statement that failed unnoticed fails its transaction', async () => {
  const { db } = connect();
  const unnoticed = db.transaction(async (tx) => {
    await tx.execute(write('a'));
    await Promise.allSettled([tx.execute(sql`select 1 / 0`)]);
  });
  await expect(unnoticed).rejects.toThrow('failed unnoticed');
  expect(await words()).toEqual([]);
});

test('a statement that is sent when its transaction has ended is refused', async () => {
  const { db } = connect();
  let kept: typeof db | undefined;
  await db.transaction((tx) => {
    kept = tx as unknown as typeof db;
    return Promise.resolve();
  });
  await expect(kept?.execute(write('late'))).rejects.toMatchObject({ cause: { code: 'internal' } });
  expect(await words()).toEqual([]);
});

test('connections that were cut at `begin` go back to the pool, which goes on', async () => {
  const { db } = connect();
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => db.transaction((tx) => tx.execute(sql`select 1`))));
    const cut = await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    expect(cut.rowCount).toBeGreaterThan(0);
    await Promise.allSettled(Array.from({ length: 20 }, () => db.transaction((tx) => tx.execute(sql`select 1`))));
  }
  await db.transaction((tx) => tx.execute(write('after')));
  expect(await words()).toEqual(['after']);
});

test('a statement of the pool whose connection is cut without a word tells that it was lost', async () => {
  const url = new URL(database.url);
  const server = { host: url.hostname, port: Number(url.port) };
  const relay = createServer((socket) => {
    const upstream = createConnection(server);
    socket.pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    socket.on('data', (piece) => piece.includes('cut here') && socket.destroy());
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void relay.close());
  url.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const connections = openConnections(url.href, { answerMs: 60_000 });
  onTestFinished(() => connections.close());
  const lost: unknown = await connections.db.execute(sql`select 'cut here'`).catch((error: unknown) => error);
  expect(isConnectionLost(lost)).toBe(true);
  expect(rowsOf(await connections.db.execute(sql`select 1 as one`))).toEqual([{ one: 1 }]);
});

test('errors tell SQLSTATE and constraint, a lost connection has a code, and rows come as their types', async () => {
  const seen: unknown[] = [];
  const { db } = connect({ onError: (error) => void seen.push((error as { code?: unknown }).code) });
  await db.execute(write('a'));
  await expect(db.execute(write('a'))).rejects.toMatchObject({ cause: { code: '23505', constraint: 'written_pkey' } });
  const lost = db.transaction(async (tx) => {
    const [own] = rowsOf(await tx.execute(sql`select pg_backend_pid() as pid`)) as { pid: number }[];
    await terminate(own?.pid);
    await tx.execute(sql`select pg_sleep(60)`);
  });
  await expect(lost).rejects.toMatchObject({
    cause: { code: expect.stringMatching(/^(57P01|CONNECTION_LOST)$/) as string },
  });
  expect(seen.slice(0, 2)).toEqual(['23505', expect.stringMatching(/^(57P01|CONNECTION_LOST)$/)]);
  expect(await db.select().from(nodes).where(eq(nodes.name, 'none'))).toEqual([]);
  expect(await words()).toEqual(['a']);
});
