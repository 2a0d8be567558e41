import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { freePort } from '#test/support/free-port.ts';
import { conductorProgram } from '#test/support/programs.ts';

/** The conductor's own process: with TLS, users of an htpasswd file, and a port of plain HTTP for booting. */

let directory: string;
let conductor: RunningProcess;
let dispatcher: Agent;
let url: string;
let bootUrl: string;
let log = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-who-may-'));
  await chmod(directory, 0o711); // for the user as whom PostgreSQL runs
  const { certFile, keyFile } = await makeCertificate(directory, 'api');
  const htpasswd = join(directory, 'htpasswd');
  await run('htpasswd', ['-cbB', '-C', '5', htpasswd, 'alice', 'wonderland']);
  const reader = (await run('htpasswd', ['-nbB', '-C', '5', 'rabbit', 'watch'])).stdout.trim();
  await writeFile(htpasswd, `${(await readFile(htpasswd, 'utf8')).trim()}\n${reader}:reader\n`);
  await mkdir(join(directory, 'ramdisk'));
  await writeFile(join(directory, 'ramdisk', 'vmlinuz'), 'kernel');
  const [port, bootPort] = [await freePort(), await freePort()];
  url = `https://127.0.0.1:${port}`;
  bootUrl = `http://127.0.0.1:${bootPort}`;
  dispatcher = new Agent({ connect: { ca: await readFile(certFile, 'utf8') } });
  conductor = start(conductorProgram, [], {
    env: {
      BATON_PORT: String(port),
      BATON_BOOT_PORT: String(bootPort),
      BATON_DATA_DIR: join(directory, 'data'),
      BATON_RAMDISK_DIR: join(directory, 'ramdisk'),
      BATON_AUTH: 'http_basic',
      BATON_HTPASSWD_FILE: htpasswd,
      BATON_TLS_CERT_FILE: certFile,
      BATON_TLS_KEY_FILE: keyFile,
      BATON_DISCOVERY: 'true',
    },
  });
  conductor.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString('utf8');
  });
  await waitUntil('the conductor to serve', async () => ((await ask('/')).status === 200 ? true : undefined), {
    timeoutMs: 600_000, // it makes its database first
    everyMs: 50,
  }).catch((error: unknown) => {
    throw new Error(`the conductor's log: ${log.slice(-2000)}`, { cause: error });
  });
});
afterAll(async () => {
  conductor.kill('SIGTERM');
  await conductor.exited;
  await dispatcher.close();
  await rm(directory, { recursive: true, force: true });
});

async function ask(path: string, options: { login?: string; method?: 'POST'; body?: unknown; base?: string } = {}) {
  const { statusCode, headers, body } = await request(`${options.base ?? url}${path}`, {
    dispatcher,
    method: options.method ?? 'GET',
    headers: {
      'X-OpenStack-Ironic-API-Version': '1.96',
      'Content-Type': 'application/json',
      ...(options.login === undefined ? {} : { Authorization: `Basic ${btoa(options.login)}` }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  return { status: statusCode, headers, text: await body.text() };
}

test('who logs in is let in over TLS, by role', async () => {
  const enrol = { method: 'POST', body: { driver: 'fake-hardware', name: 'n' } } as const;
  expect(await ask('/v1/nodes')).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Basic realm="Baremetal API"' },
  });
  expect((await ask('/v1/nodes', { login: 'alice:Wonderland' })).status).toBe(401);
  expect((await ask('/v1/nodes', { ...enrol, login: 'alice:wonderland' })).status).toBe(201);
  expect((await ask('/v1/nodes/n', { login: 'rabbit:watch' })).status).toBe(200);
  expect((await ask('/v1/nodes', { ...enrol, login: 'rabbit:watch' })).status).toBe(403);
  const history = await ask('/v1/nodes/n/history?detail=true', { login: 'rabbit:watch' });
  expect(history.text).toContain('"user":"alice"');
});

test('no password is in the log', async () => {
  await expect.poll(() => log).toContain('login failed');
  expect(log.toLowerCase()).not.toContain('wonderland');
});

test('the boot port serves files and scripts in the clear, and nothing of the API', async () => {
  const script = await ask('/boot/node.ipxe?mac=52-54-00-00-00-01', { base: bootUrl });
  expect(script.text).toContain(
    `kernel --name vmlinuz ${bootUrl}/boot/vmlinuz?mac=52-54-00-00-00-01 ipa-api-url=${url} ipa-insecure=1 `,
  );
  expect((await ask('/boot/vmlinuz', { base: bootUrl })).text).toBe('kernel');
  for (const path of ['/', '/v1/nodes', '/v1/lookup?addresses=52:54:00:00:00:01', '/openapi.json', '/metrics']) {
    expect([path, (await ask(path, { base: bootUrl, login: 'alice:wonderland' })).status]).toEqual([path, 404]);
  }
});

test("an agent that knows the API's CA checks its certificate, and one that does not refuses it", async () => {
  const script = new URL('../support/ask-as-agent.ts', import.meta.url).pathname;
  const lookUp = (env: Readonly<Record<string, string>>) => run(process.execPath, [script, url], { env });
  // nobody has this address: the answer of an API that was believed
  expect((await lookUp({ NODE_EXTRA_CA_CERTS: join(directory, 'api.crt') })).stdout).toBe('404\n');
  await expect(lookUp({})).rejects.toThrow(/self-signed certificate/);
});

test.each([
  [{ BATON_HOST: '0.0.0.0', BATON_PUBLIC_URL: 'http://192.0.2.1' }, /BATON_ALLOW_UNAUTHENTICATED=true/],
  [{ BATON_AUTH: 'http_basic', BATON_HTPASSWD_FILE: '/nonexistent/htpasswd' }, /BATON_HTPASSWD_FILE: read/],
] as const)('the conductor does not start with %j', async (settings: Readonly<Record<string, string>>, why) => {
  const attempt = run(conductorProgram, [], {
    env: { BATON_PORT: '0', BATON_DATA_DIR: join(directory, 'refused'), BATON_LOG_LEVEL: 'silent', ...settings },
  });
  await expect(attempt).rejects.toThrow(why);
});
