import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Mark, Memory } from '#conductor/kernel/db/answered.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { databaseTimelines } from '#conductor/kernel/db/schema/timeline.ts';
import { withClient } from '#conductor/kernel/db/session/session.ts';
import { silentLog } from '#shared/log.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

let made: TestDatabase;
let directory: string;
let memoryFile: string;
const open: Database[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-timeline-'));
});
afterAll(() => rm(directory, { recursive: true }));
beforeEach(async () => {
  made = await makeTestDatabase();
  memoryFile = join(directory, `${made.url.split('/').at(-1)}.json`);
});
afterEach(async () => {
  await end();
  await made.drop();
});
async function end(): Promise<void> {
  for (const each of open.splice(0)) await each.close();
}

/** @param isAlone with others it hears what they were answered */
async function start({ isAlone = true } = {}): Promise<Database> {
  const options = { dataDirectory: '', log: silentLog, isAlone, conductorName: 'here', memoryFile };
  const database = await openDatabase({ url: made.url, ...options });
  open.push(database);
  return database;
}
const insertNode = ({ db }: Database) =>
  db.transaction((tx) =>
    tx.insert(nodes).values({
      uuid: randomUUID(),
      driver: 'fake-hardware',
      networkInterface: 'noop',
      interfaces: {},
      provisionState: 'available',
    }),
  );
const remember = (memory: Memory) => writeFile(memoryFile, JSON.stringify(memory));
const remembered = async (file = memoryFile) => JSON.parse(await readFile(file, 'utf8')) as Memory;
async function systemOf({ db }: Database): Promise<string> {
  const statement = sql`select system_identifier::text as system from pg_control_system()`;
  const [row] = rowsOf(await db.execute(statement)) as { system: string }[];
  return row?.system ?? '';
}
const heldNodes = async ({ db }: Database) =>
  (await db.select({ fault: nodes.fault, maintenance: nodes.maintenance }).from(nodes)).map((node) => node);

/** Opens the database as a conductor that knows what was answered on timeline 0, before this one. */
async function answeredBefore(marks: (committed: Mark) => Mark[]): Promise<Database> {
  const before = await start();
  await insertNode(before);
  await end();
  const { system, marks: answered } = await remembered();
  const mark = answered.at(-1);
  if (!mark) throw new Error('nothing was remembered');
  const gone = await start();
  await gone.db.delete(databaseTimelines);
  await end();
  await remember({ system, timeline: 0, marks: marks(mark) });
  return start();
}

test('what a transaction was answered with is remembered, across lives, and is no loss on the same timeline', async () => {
  const first = await start();
  await insertNode(first);
  await end();
  const memory = await remembered();
  expect(memory).toMatchObject({ timeline: 1, marks: [{ xid: expect.stringMatching(/^\d+$/) as unknown }] });
  const again = await start();
  expect(await again.loss()).toBeUndefined();
  expect(await heldNodes(again)).toEqual([{ fault: null, maintenance: false }]);
});

/** Gives the mark of another conductor's last answer, and the file of one at rest in which it stands by then. */
async function heardAtRest(
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<{ readonly answered: Mark; readonly atRest: string }> {
  const other = await start({ isAlone: false });
  const ofOther = memoryFile;
  const atRest = `${memoryFile}-of-one-at-rest`;
  memoryFile = atRest;
  await start({ isAlone: false });
  await meanwhile();
  await insertNode(other);
  const inserted = sql`select xmin::text as xid from nodes`;
  const [row] = rowsOf(await other.db.execute(inserted)) as { xid: string }[];
  const find = async (file: string) => (await remembered(file)).marks.find(({ xid }) => xid === row?.xid);
  await expect.poll(() => find(ofOther)).toBeDefined();
  const answered = await find(ofOther);
  if (!answered) throw new Error('the node was not answered');
  await expect.poll(async () => (await remembered(atRest)).marks).toContainEqual(answered);
  return { answered, atRest };
}

test('what another conductor was answered is remembered, too, and lost with a standby that was behind', async () => {
  const { answered, atRest } = await heardAtRest();
  await end();
  const { system, marks } = await remembered(atRest);
  expect(marks).toContainEqual(answered);
  await (await start()).db.delete(databaseTimelines);
  await end();
  const unknown = { ...answered, xid: String(BigInt(answered.xid) + 1_000_000n) };
  await remember({ system, timeline: 0, marks: [unknown] });
  const promoted = await start();
  expect(await heldNodes(promoted)).toMatchObject([{ fault: 'restored' }]);
  expect(await promoted.loss()).toContain('from a standby that was behind');
});

test('what nobody was answered is not remembered: autovacuum and other databases wait for no standby', async () => {
  const foreign: string[] = [];
  const { answered } = await heardAtRest(() =>
    withClient(made.url, async (client) => {
      const { rows } = await client.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
      foreign.push(rows[0]?.xid ?? '');
    }),
  );
  await end();
  const xids = (await remembered()).marks.map(({ xid }) => xid);
  expect(xids).toContain(answered.xid);
  expect(foreign).toHaveLength(1);
  expect(xids.filter((xid) => foreign.includes(xid))).toEqual([]);
  expect(BigInt(foreign[0] ?? 0)).toBeLessThan(BigInt(answered.xid));
});

test('another timeline that has all of it is gone on with', async () => {
  const after = await answeredBefore((mark) => [mark]);
  expect(await heldNodes(after)).toEqual([{ fault: null, maintenance: false }]);
  expect(await after.loss()).toBeUndefined();
  expect(await after.db.select().from(databaseTimelines)).toMatchObject([{ timeline: 1, behind: null }]);
});

test.each<[string, (mark: Mark) => Mark[]]>([
  ['a transaction that is not there', (mark) => [mark, { ...mark, xid: '4000000000' }]],
  ['a position that is not there', (mark) => [mark, { ...mark, lsn: 'FF/0' }]],
])('another timeline without what was answered holds all nodes: %s', async (_, marks) => {
  const after = await answeredBefore(marks);
  expect(await heldNodes(after)).toEqual([{ fault: 'restored', maintenance: true }]);
  const said = expect.stringContaining('a standby that was behind (timeline 0, now 1)') as unknown;
  expect(await after.loss()).toEqual(said);
  expect(await after.db.select().from(databaseTimelines)).toMatchObject([{ behind: said }]);
  // a later life, and another conductor, hear of it, until the last node is released
  const later = await start();
  await later.db.execute(sql`select 1`);
  await after.db.update(nodes).set({ fault: null, maintenance: false });
  expect(await after.loss()).toBeUndefined();
  expect(await heldNodes(later)).toEqual([{ fault: null, maintenance: false }]);
});

test('a transaction that was aborted when the other timeline began is lost', async () => {
  const after = await answeredBefore((mark) => [mark]);
  const aborted: { xid?: string } = {};
  await after.db
    .transaction(async (tx) => {
      const [row] = rowsOf(await tx.execute(sql`select pg_current_xact_id()::text as xid`)) as object[];
      Object.assign(aborted, row);
      throw new Error('no');
    })
    .catch(() => undefined);
  const system = await systemOf(after);
  await after.db.update(databaseTimelines).set({ nextXid: '4000000000' });
  await end();
  await remember({ system, timeline: 0, marks: [{ xid: aborted.xid ?? '', lsn: '0/1' }] });
  expect(await heldNodes(await start())).toEqual([{ fault: 'restored', maintenance: true }]);
});

test('a server of another cluster is not compared, and a log that is shorter is a loss', async () => {
  const first = await start();
  await insertNode(first);
  const system = await systemOf(first);
  await end();
  await remember({ system: '1', timeline: 7, marks: [{ xid: '4000000000', lsn: 'FF/0' }] });
  const other = await start();
  expect(await heldNodes(other)).toEqual([{ fault: null, maintenance: false }]);
  await end();
  await remember({ system, timeline: 1, marks: [{ xid: '3', lsn: 'FF/0' }] });
  const shorter = await start();
  expect(await heldNodes(shorter)).toEqual([{ fault: 'restored', maintenance: true }]);
  expect(await shorter.loss()).toContain('has lost transactions that it had answered');
});

test('a memory that is not understood is not taken for none', async () => {
  await writeFile(memoryFile, '{"system":"1"}');
  await expect(start()).rejects.toMatchObject({ cause: { message: expect.stringContaining(memoryFile) as unknown } });
});

test('connections that are opened while others are being answered see no loss', async () => {
  const database = await start();
  const insertMany = async (): Promise<void> => {
    for (let count = 0; count < 20; count += 1) await insertNode(database);
  };
  const cut = async (): Promise<void> => {
    for (let count = 0; count < 20; count += 1) {
      await database.db
        .execute(sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and random() < 0.5`)
        .catch(() => undefined);
    }
  };
  await Promise.allSettled([insertMany(), insertMany(), insertMany(), cut()]);
  expect(await database.loss()).toBeUndefined();
  expect((await heldNodes(database)).filter(({ maintenance }) => maintenance)).toEqual([]);
});
