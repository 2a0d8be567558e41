import { appendFile, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BuildContext } from '#image-build/build-context.ts';
import { buildDebianPackage } from '#image-build/debian-package/build-debian-package.ts';
import { debianSources } from '#image-build/package-tree.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { stopUnshared } from '#test/support/stop-unshared.ts';

/** The Debian package in a fresh minimal Debian: installed, started as its unit says, upgraded, removed, purged. */

const build: BuildContext = { run, say: () => undefined, force: false, refresh: false };
const slowMs = 20 * 60_000;
const enterChroot = join(import.meta.dirname, '../interop/enter-chroot.sh');
const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];

let directory: string;
let root: string;
let url: string;
let conductor: RunningProcess | undefined;
let log = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-debian-'));
  root = join(directory, 'root');
  url = `http://127.0.0.1:${await freePort()}`;
  const older = await buildDebianPackage(build, { output: directory, version: '0.0.1' });
  const install = `chroot "$1" apt-get install --yes --no-install-recommends /root/${basename(older)}`;
  const hooks = [`copy-in ${older} /root`, install].map((hook) => `--customize-hook=${hook}`);
  const args = ['--quiet', '--variant=apt', ...hooks, 'bookworm', root, ...(await debianSources('bookworm'))];
  await run('mmdebstrap', args, { timeoutMs: slowMs });
}, slowMs);
afterAll(async () => {
  await stop('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

const inRoot = (argv: readonly string[], okExitCodes = [0]) =>
  run('unshare', [...namespaces, enterChroot, root, '--', 'env', '-u', 'TMPDIR', ...argv], {
    okExitCodes,
    timeoutMs: slowMs,
  });
const exists = (path: string) =>
  stat(join(root, path)).then(
    () => true,
    () => false,
  );

/** Starts it as systemd does by the unit, but for the sandbox. */
async function startByUnit(): Promise<void> {
  const unit = await readFile(join(root, 'lib/systemd/system/baton.service'), 'utf8');
  const all = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.+)$`, 'gm'))].map(([, value]) => value ?? '');
  const files = await Promise.all(all('EnvironmentFile').map((file) => readFile(join(root, file), 'utf8')));
  const settings = files.flatMap((text) => text.split('\n').filter((line) => /^[A-Z]/.test(line)));
  const [user] = all('User');
  const argv = [
    'setpriv',
    `--reuid=${user}`,
    `--regid=${user}`,
    '--init-groups',
    'env',
    '--ignore-environment',
    `--chdir=${all('WorkingDirectory')[0]}`,
    'PATH=/usr/bin:/bin',
    ...all('Environment'),
    ...settings,
    ...(all('ExecStart')[0] ?? '').split(' '),
  ];
  const child = start('unshare', [
    ...namespaces,
    enterChroot,
    root,
    '/dev/shm:dev/shm',
    '--',
    'env',
    '-u',
    'TMPDIR',
    ...argv,
  ]);
  conductor = child;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8');
    });
  }
  const ended = child.exited.then((code) => {
    throw new Error(`the conductor ended with ${code}:\n${log.slice(-4000)}`);
  });
  ended.catch(() => undefined); // from here on its end is the test's business
  const ready = async () => (await fetch(`${url}/readyz`)).ok || undefined;
  await Promise.race([waitUntil('the conductor to be ready', ready, { everyMs: 100 }), ended]);
}

async function stop(signal: NodeJS.Signals): Promise<number | undefined> {
  const running = conductor;
  conductor = undefined;
  return running && stopUnshared(running, signal);
}

test('is installed, and serves by its unit as its user', async () => {
  await appendFile(join(root, 'etc/baton/baton.env'), `\nBATON_PORT=${new URL(url).port}\n`);
  await startByUnit();
  expect((await stat(join(root, 'var/lib/baton/admin-token'))).uid).toBe(
    Number((await inRoot(['id', '--user', 'baton'])).stdout),
  );
  expect((await stat(join(root, 'var/lib/baton'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(root, 'etc/baton/baton.env'))).mode & 0o777).toBe(0o640);
  expect((await fetch(`${url}/v1/nodes`)).status, 'without a token').toBe(401);
  const token = (await readFile(join(root, 'var/lib/baton/admin-token'), 'utf8')).trim();
  const created = await fetch(`${url}/v1/nodes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'openstack-api-version': 'baremetal 1.80',
    },
    body: JSON.stringify({ name: 'first', driver: 'fake-hardware' }),
  });
  expect(created.status).toBe(201);
  // root needs to say nothing: neither where the conductor listens nor who asks
  expect((await inRoot(['baton', 'node', 'list'])).stdout).toContain('first');
});

test('serves the ramdisk, and finds what lies beside its bundles', async () => {
  const initrd = await fetch(`${url}/boot/initrd.img`, { method: 'HEAD' });
  expect(Number(initrd.headers.get('content-length'))).toBeGreaterThan(30_000_000);
  expect((await fetch(`${url}/docs/swagger-ui.css`)).status).toBe(200);
  expect((await fetch(`${url}/board`)).status).toBe(200);
  expect((await fetch(`${url}/board/board.js`)).status).toBe(200);
  expect((await fetch(`${url}/boot/undionly.kpxe`, { method: 'HEAD' })).status).toBe(200);
});

test('brings the demo, the alert rules and the dashboard', async () => {
  expect(await exists('usr/lib/baton/build/bundle/demo.cjs')).toBe(true);
  const documents = 'usr/share/doc/baton/monitoring';
  expect([await exists(`${documents}/baton.rules.yml`), await exists(`${documents}/baton-dashboard.json`)]).toEqual([
    true,
    true,
  ]);
});

test('its unit has no fault that systemd knows of', async () => {
  const unit = join(root, 'lib/systemd/system/baton.service');
  const { stderr } = await run('systemd-analyze', ['--man=no', 'verify', unit], { okExitCodes: [0, 1] });
  const own = stderr.split('\n').filter((line) => line.includes('baton.service'));
  // on this machine it is not installed
  expect(own.filter((line) => !line.includes('/usr/lib/baton/bin/node is not executable'))).toEqual([]);
});

test('is upgraded with its database and its settings', async () => {
  expect(await stop('SIGTERM')).toBe(0);
  const newer = await buildDebianPackage(build, { output: join(root, 'root') });
  await inRoot(['dpkg', '--install', `/root/${basename(newer)}`]);
  await startByUnit();
  // root needs to say nothing: neither where the conductor listens nor who asks
  expect((await inRoot(['baton', 'node', 'list'])).stdout).toContain('first');
  expect(await stop('SIGTERM')).toBe(0);
});

test('its database is backed up and restored by root, with the settings of the service', async () => {
  // PostgreSQL's
  const withMemory = (argv: readonly string[]) =>
    run('unshare', [...namespaces, enterChroot, root, '/dev/shm:dev/shm', '--', 'env', '-u', 'TMPDIR', ...argv], {
      timeoutMs: slowMs,
    });
  await withMemory(['baton', 'database', 'dump', '/root/baton.dump']);
  await rename(join(root, 'var/lib/baton/postgresql'), join(root, 'root/postgresql'));
  await withMemory(['baton', 'database', 'restore', '/root/baton.dump']);
  await startByUnit();
  // root needs to say nothing: neither where the conductor listens nor who asks
  expect((await inRoot(['baton', 'node', 'list'])).stdout).toContain('first');
  expect(await stop('SIGTERM')).toBe(0);
});

test('is removed but for data and settings, which a purge takes too', async () => {
  await inRoot(['dpkg', '--remove', 'baton']);
  expect([await exists('usr/lib/baton'), await exists('usr/bin/baton')]).toEqual([false, false]);
  expect([await exists('var/lib/baton/secret.key'), await exists('etc/baton/baton.env')]).toEqual([true, true]);
  await inRoot(['dpkg', '--purge', 'baton']);
  expect([await exists('var/lib/baton'), await exists('var/cache/baton'), await exists('etc/baton')]).toEqual([
    false,
    false,
    false,
  ]);
  await inRoot(['getent', 'passwd', 'baton'], [2]);
});
