import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';

/** A conductor that can't start says why, ends, and harms nobody. */

const main = new URL('../../conductor/main.ts', import.meta.url).pathname;
let directory: string;
let conductor: ConductorProcess;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-start-'));
  conductor = await prepareConductor({ BATON_DATA_DIR: directory });
  await conductor.start();
});
afterEach(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});

const startAnother = (settings: Readonly<Record<string, string>>) =>
  run(process.execPath, [main], { env: settings, okExitCodes: [1], timeoutMs: 30_000 });

test('not on a database that another conductor has open, which goes on', async () => {
  const second = await startAnother({ BATON_DATA_DIR: directory, BATON_PORT: String(await freePort()) });
  expect(second.stderr).toContain(`in use by another conductor (process ${conductor.pid()})`);
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
  // and what is on disk is whole: it opens again after the hardest end
  await conductor.kill('SIGKILL');
  await conductor.start();
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
});

test('not on a port that is taken', async () => {
  const port = new URL(conductor.url).port;
  const second = await startAnother({ BATON_DATA_DIR: join(directory, 'another'), BATON_PORT: port });
  expect(second.stderr).toContain(`listen on 127.0.0.1 port ${port}`);
});

test('not with settings that are wrong, all of which it names', async () => {
  const second = await startAnother({ BATON_PORT: 'high', BATON_LOG_LEVEL: 'loud' });
  expect(second.stderr).toMatch(/BATON_PORT.*\n.*BATON_LOG_LEVEL/);
});
