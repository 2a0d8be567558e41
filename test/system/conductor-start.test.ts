import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';
import { conductorProgram } from '#test/support/programs.ts';

/** A conductor that can't start says why, ends, and harms nobody. */

let conductor: ConductorProcess;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-start-'));
  await chmod(directory, 0o711); // for the user as whom PostgreSQL runs
  conductor = await prepareConductor({ BATON_DATA_DIR: join(directory, 'data') });
  await conductor.start();
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true, force: true });
});

const startAnother = (settings: Readonly<Record<string, string>>) =>
  run(conductorProgram, [], { env: settings, okExitCodes: [1], timeoutMs: 120_000 });

test('not on a database that another conductor has open, which goes on', async () => {
  const second = await startAnother({ BATON_DATA_DIR: conductor.dataDirectory, BATON_PORT: String(await freePort()) });
  expect(second.stderr).toContain(`in use by another conductor (process ${conductor.pid()})`);
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
  // and what is on disk is whole: it opens again after the hardest end
  await conductor.kill('SIGKILL');
  await conductor.start();
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
});

test('not on a port that is taken', async () => {
  const port = new URL(conductor.url).port;
  const another = await mkdtemp(join(tmpdir(), 'baton-start-'));
  const second = await startAnother({ BATON_DATA_DIR: another, BATON_PORT: port });
  await rm(another, { recursive: true });
  expect(second.stderr).toContain(`listen on 127.0.0.1 port ${port}`);
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
});

test('not with settings that are wrong, all of which it names', async () => {
  const second = await startAnother({ BATON_PORT: 'high', BATON_LOG_LEVEL: 'loud' });
  expect(second.stderr).toMatch(/BATON_PORT.*\n.*BATON_LOG_LEVEL/);
  expect((await fetch(`${conductor.url}/v1/nodes`)).status).toBe(200);
});

test('finds what lies beside its sources and in npm packages, and programs of its own', async () => {
  const page = await fetch(`${conductor.url}/docs/swagger-ui.css`);
  expect(page.headers.get('content-type')).toContain('text/css');
  const board = await fetch(`${conductor.url}/board/board.js`);
  const script = await board.text();
  expect(() => new Script(script), 'a script that browsers read').not.toThrow();
  expect(script).toContain('v1/flows');
  // longer than what it reads itself: a process of its own does
  const body = `${'# a comment\n'.repeat(4000)}a: [`;
  const answer = await fetch(`${conductor.url}/api/v1.0/configdocs/long`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-yaml' },
    body,
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('line 4001');
});
