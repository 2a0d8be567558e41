import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { startDemoConductor } from '#test/demo/conductor.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { batonProgram } from '#test/support/programs.ts';

const slowMs = 600_000;

interface ReadyDemo {
  readonly process: RunningProcess;
  readonly url: string;
  readonly text: string;
  /** Directory of its conductor, and its data. */
  readonly directory: string;
}

const newest = { 'X-OpenStack-Ironic-API-Version': '1.96' };
const viaNpx = ['npx', '--no', 'baton'] as const;
const itself = ['env', '-u', 'npm_command', batonProgram] as const;

async function startDemo([program, ...first]: typeof viaNpx | typeof itself, nodes: number): Promise<ReadyDemo> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [...first, 'demo', '--nodes', String(nodes), `--port=${port}`];
  const demo = start(program, args, { detached: true, cwd: join(import.meta.dirname, '../..') });
  let text = '';
  demo.stderr.on('data', (chunk: Buffer) => void (text += chunk.toString('utf8')));
  const ready = () => text.includes('Ctrl-C ends it') || undefined;
  const ended = demo.exited.then((code) => Promise.reject(new Error(`it ended with ${code}: ${text}`)));
  try {
    await Promise.race([waitUntil('the demo to be ready', ready, { timeoutMs: slowMs, everyMs: 100 }), ended]);
  } catch (error) {
    process.kill(-demo.pid, 'SIGINT');
    throw error;
  }
  ended.catch(() => undefined); // from here on its end is the test's business
  return { process: demo, url, text, directory: dirname(/log: +(\S+)/.exec(text)?.[1] ?? '') };
}

async function expectNothingLeft({ url, directory }: ReadyDemo): Promise<void> {
  await expect(stat(directory)).rejects.toThrow('ENOENT');
  await expect(fetch(url)).rejects.toThrow('fetch failed');
}

test('baton demo: a board, machines with faults, a site that deploys; Ctrl-C leaves nothing', async () => {
  const demo = await startDemo(itself, 7);
  const { url, text } = demo;
  try {
    expect(text).toContain(`board: ${url}/\n       BATON_URL=${url} baton status\n`);
    expect(text).toMatch(/r01-n06 has a bad disk\n {2}r01-n07 has a dead BMC/);
    expect(await (await fetch(`${url}/board`)).text()).toContain('<html');

    const names = async (state: string) =>
      (await run(batonProgram, ['node', 'list', '--state', state, '-o', 'name'], { env: { BATON_URL: url } })).stdout
        .trim()
        .split('\n')
        .sort();
    // the site's second group waits for the first
    const { stdout: all } = await run(batonProgram, ['node', 'list', '-o', 'name'], { env: { BATON_URL: url } });
    expect(all.trim().split('\n')).toHaveLength(7);
    const whole = ['r01-n01', 'r01-n02', 'r01-n03', 'r01-n04'];
    const isThere = async () => {
      const [active, failed] = [await names('active'), await names('deploy failed')];
      return (whole.every((name) => active.includes(name)) && failed.includes('r01-n06')) || undefined;
    };
    await waitUntil('machines to be deployed', isThere, { timeoutMs: slowMs, everyMs: 1000 });
    const { stdout } = await run(batonProgram, ['network', 'diff', 'r01-n01'], { env: { BATON_URL: url } });
    // as Baton has set it, and as its switch has it
    expect(stdout).toMatch(/00:1c:73:00:00:00 Ethernet1 +tenant +VLAN 200 +VLAN 200/);
    expect(await (await fetch(`${url}/v1/nodes/r01-n06/inventory`, { headers: newest })).json()).toMatchObject({
      inventory: { disks: [{ baton_health: { passed: false } }] },
    });
  } finally {
    process.kill(-demo.process.pid, 'SIGINT');
  }
  expect(await demo.process.exited).toBe(0);
  await expectNothingLeft(demo);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s to baton alone leaves nothing either', async (signal) => {
  const demo = await startDemo(itself, 1);
  demo.process.kill(signal);
  expect(await demo.process.exited).toBe(0);
  await expectNothingLeft(demo);
});

test('SIGTERM to npx, whose shell passes nothing on, leaves nothing after a while', async () => {
  const demo = await startDemo(viaNpx, 1);
  expect(demo.text).toContain(`BATON_URL=${demo.url} npx baton status\n`);
  demo.process.kill('SIGTERM');
  const isGone = () =>
    stat(demo.directory).then(
      () => undefined,
      () => true as const,
    );
  await waitUntil('its data to be deleted', isGone, { timeoutMs: slowMs, everyMs: 100 });
  await expectNothingLeft(demo);
});

test('what it can’t do is refused before anything starts', async () => {
  const refused = await run(batonProgram, ['demo', '--nodes', '0'], { okExitCodes: [2] });
  expect(refused.stderr).toContain('--nodes: it must be a whole number, 1 or more');
});

test('a conductor that answers at the given port is left alone', async () => {
  const asked: unknown[] = [];
  const taken = createServer((request, response) => {
    asked.push(request.url);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  try {
    const ended = await run(batonProgram, ['demo', '--nodes', '1', `--port=${port}`], { okExitCodes: [1] });
    expect(ended.stderr).toContain(`baton demo: --port: ${port} is in use`);
    expect(asked).toEqual([]);
  } finally {
    taken.close();
  }
});

test('of a conductor that ends as it starts the log is told', async () => {
  const taken = createServer().on('connection', (socket) => socket.destroy());
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = taken.address() as AddressInfo;
    await expect(startDemoConductor(port, 'switches: {}\n')).rejects.toThrow('the conductor ended as it started');
  } finally {
    taken.close();
  }
});

test('a conductor that does not start ends it', async () => {
  const args = ['demo', '--nodes', '1', `--port=${await freePort()}`];
  const ended = await run(batonProgram, args, { okExitCodes: [1], env: { TMPDIR: '/nowhere' } });
  expect(ended.stderr).toContain('/nowhere/baton-demo-');
});
