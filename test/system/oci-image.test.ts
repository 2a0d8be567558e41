import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildBatonCli } from '#image-build/baton-cli.ts';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { buildOciImage } from '#image-build/oci-image/build-oci-image.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { stopUnshared } from '#test/support/stop-unshared.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The OCI image, read and unpacked by skopeo and umoci, and run as its configuration says; `baton-cli` speaks to it. */

const build: BuildContext = { run, say: () => undefined, force: false, refresh: false };
const slowMs = 20 * 60_000;
const enterChroot = join(import.meta.dirname, '../interop/enter-chroot.sh');

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly WorkingDir: string;
  };
}

let directory: string;
let image: string;
let postgresql: PostgresServer;
let conductor: RunningProcess | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-oci-test-'));
  postgresql = await startPostgresql();
  image = `${await buildOciImage(build, { output: directory })}:${packageJson.version}`;
}, slowMs);
afterAll(async () => {
  if (conductor) await stopUnshared(conductor, 'SIGKILL');
  await postgresql.close();
  await rm(directory, { recursive: true, force: true });
}, slowMs);

test(
  'skopeo reads it, copies it, and finds each blob to be what its digest says',
  async () => {
    const { stdout } = await run('skopeo', ['inspect', `oci:${image}`]);
    const answer = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    expect(answer).toMatchObject({ Os: 'linux', Architecture: 'amd64' });
    expect(answer['Layers']).toHaveLength(2);
    const copy = join(directory, 'copy.tar');
    await run('skopeo', ['--insecure-policy', 'copy', `oci:${image}`, `docker-archive:${copy}:baton:test`], {
      timeoutMs: slowMs,
    });
    expect((await stat(copy)).size).toBeGreaterThan(100_000_000);
    await rm(copy);
  },
  slowMs,
);

test(
  'umoci unpacks it, its conductor serves as its user, and baton-cli reaches it',
  async () => {
    const bundle = join(directory, 'bundle');
    await run('umoci', ['unpack', `--image=${image}`, bundle], { timeoutMs: slowMs });
    const root = join(bundle, 'rootfs');
    const { stdout } = await run('skopeo', ['inspect', '--config', `oci:${image}`]);
    const { config } = JSON.parse(stdout) as ImageConfig;
    const [uid = '', gid = ''] = config.User.split(':');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await cp(postgresql.settings.BATON_SECRET_KEY_FILE, join(root, 'etc/secret.key'));
    await run('chown', [config.User, join(root, 'etc/secret.key')]);
    const settings = [
      `BATON_PORT=${port}`,
      `BATON_PUBLIC_URL=${url}`,
      `DATABASE_URL=${postgresql.url}`,
      'BATON_SECRET_KEY_FILE=/etc/secret.key',
    ];
    const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--bounding-set=-all'];
    const environment = ['env', '--ignore-environment', `--chdir=${config.WorkingDir}`, ...config.Env, ...settings];
    const argv = [...asUser, ...environment, ...config.Entrypoint];
    const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];
    const child = start('unshare', [
      ...namespaces,
      enterChroot,
      root,
      '/dev:dev',
      '--',
      'env',
      '-u',
      'TMPDIR',
      ...argv,
    ]);
    conductor = child;
    let log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void (log += String(chunk)));
    const ended = child.exited.then((code) => {
      throw new Error(`the conductor ended with ${code}:\n${log.slice(-4000)}`);
    });
    const ready = async () => (await fetch(`${url}/readyz`)).ok || undefined;
    await Promise.race([waitUntil('the conductor to be ready', ready, { everyMs: 100 }), ended]);
    ended.catch(() => undefined); // from here on its end is the test's business

    const cli = await buildBatonCli(build, { output: directory });
    const env = { BATON_URL: url, BATON_TOKEN_FILE: join(root, 'var/lib/baton/admin-token') };
    const baton = (...args: string[]) => run(paths.nodeBinary, [cli, ...args], { env, okExitCodes: [0, 1] });
    expect((await baton('--version')).stdout).toBe(`baton ${packageJson.version}\n`);
    expect((await baton('conductor', 'list')).stdout).toContain('alive');
    expect((await baton('database', 'dump', join(directory, 'x'))).stderr).toContain('speaks to conductors only');
    expect((await fetch(`${url}/boot/initrd.img`, { method: 'HEAD' })).ok).toBe(true);
    expect((await stat(join(root, 'usr/lib/postgresql/15/bin/pg_dump'))).isFile()).toBe(true);
  },
  slowMs,
);

test('baton-cli is a program: its first line is for the kernel', async () => {
  const cli = await buildBatonCli(build, { output: directory });
  expect((await readFile(cli, 'utf8')).startsWith('#!/usr/bin/env node\n')).toBe(true);
  expect((await stat(cli)).mode & 0o777).toBe(0o755);
  const older = join(directory, 'older.cjs');
  await writeFile(older, "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });");
  const { stderr } = await run(paths.nodeBinary, ['--require', older, cli], { okExitCodes: [2] });
  expect(stderr).toBe('baton: needs Node.js 24 or newer, this is 20.20.2\n');
});
