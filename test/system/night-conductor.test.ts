import { chmod, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RunResult, run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { privateServerPid } from '#test/support/left-server.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';

/**
 * Faults of a night that hit the conductor and its database in the middle of a deploy: who names them, with which words,
 * and that the deploy goes on by itself once the fault is over. The other faults are in `night-table.test.ts`.
 */

const name = 'sleeper';
const limits = { timeoutMs: 240_000, everyMs: 50 };
let directory: string;
let data: string;
let conductor: ConductorProcess;
let operator: Operator;
let machine: SimulatedNode;
/** Ends the image write that the fault has come amid. */
let goOn: () => void = () => undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-night-'));
  await chmod(directory, 0o711);
  // small enough to be filled
  await run('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=0711', 'baton-night', directory]);
  data = join(directory, 'data');
  conductor = await prepareConductor({ BATON_DATA_DIR: data });
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:39:01' });
  await conductor.start();
  operator = createOperator(conductor.url, { retries: 20 });
  await enrolSimulatedNode(operator, machine, name);
});
afterEach(() => goOn());
afterAll(async () => {
  await machine?.close();
  await conductor?.close();
  await run('umount', ['--lazy', directory]);
  await rm(directory, { recursive: true, force: true });
});

const baton = (...args: readonly string[]): Promise<RunResult> =>
  run(batonProgram, args, { env: { BATON_URL: conductor.url }, okExitCodes: [0, 1, 2, 3], timeoutMs: 240_000 });

async function readiness(): Promise<{ readonly status: number; readonly cause: string | undefined }> {
  const answer = await fetch(`${conductor.url}/readyz`);
  const { causes } = (await answer.json()) as { readonly causes?: { readonly database?: string } };
  return { status: answer.status, cause: causes?.database };
}
const isReady = () => expect.poll(readiness).toEqual({ status: 200, cause: undefined });

async function serverPid(): Promise<number> {
  const pid = await privateServerPid(data);
  if (pid === undefined) throw new Error(`no server runs below ${data}`);
  return pid;
}

/** Begins a deploy, and waits until the image is being written, which it is until `goOn`. */
async function writeImage(): Promise<void> {
  if ((await operator.node(name))['provision_state'] === 'active') {
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
  }
  const written = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  machine.faults.slowStep = { step: 'write_image', until: written };
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await waitUntil(
    'the image to be written',
    async () => {
      const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as {
        readonly steps: readonly { readonly step: string; readonly state: string }[];
      };
      return steps.some(({ step, state }) => step === 'write_image' && state === 'waiting') || undefined;
    },
    limits,
  );
}

/** Lets the image end: nobody has to do anything for the node to become active. */
async function becomesActive(): Promise<void> {
  goOn();
  await operator.waitForState(name, 'active');
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
}

test('the conductor is killed: the CLI names it, and the deploy goes on', async () => {
  await writeImage();
  await conductor.kill('SIGKILL');
  const { exitCode, stderr } = await baton('status');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(conductor.url);
  expect(stderr).toContain('ECONNREFUSED');
  await conductor.start();
  await becomesActive();
});

test('PostgreSQL stops: said within seconds by all, and the deploy goes on', async () => {
  await writeImage();
  const server = await serverPid();
  const children = (await readFile(`/proc/${server}/task/${server}/children`, 'utf8')).trim().split(' ').map(Number);
  const stopped = [server, ...children];
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  try {
    await expect.poll(async () => (await readiness()).status).toBe(503);
    expect((await readiness()).cause).toMatch(/database|PostgreSQL/i);
    const asked = await baton('node', 'list');
    expect(asked.exitCode).toBe(3);
    expect(asked.stderr).toContain(`No answer from the conductor at ${conductor.url} for 2 s; waiting`);
    expect(asked.stderr).toMatch(/The conductor says: .*database/);
    expect(conductor.log()).toMatch(/database|PostgreSQL/i);
  } finally {
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
  }
  await isReady();
  await becomesActive();
});

test('PostgreSQL is killed: it is started again, as the log says, and the deploy goes on', async () => {
  await writeImage();
  process.kill(await serverPid(), 'SIGKILL');
  const said = /PostgreSQL exited unexpectedly and is restarted/;
  await expect.poll(() => conductor.log()).toMatch(said);
  await isReady();
  await becomesActive();
});

test('its disk is full: /readyz, log and CLI name it while it lasts, and the deploy goes on', async () => {
  await writeImage();
  const filler = join(directory, 'filler');
  await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M'], { okExitCodes: [1] });
  // rows that need new pages soon
  const notes = Array.from({ length: 6000 }, () => Math.random().toString(36).slice(2)).join('');
  const words: string[] = [];
  await waitUntil(
    'a write to be refused',
    async () => {
      const { exitCode, stderr } = await baton('node', 'create', 'driver=fake-hardware', `extra.notes=${notes}`);
      words.push(stderr);
      return exitCode === 3 || undefined;
    },
    limits,
  );
  expect(words.at(-1)).toMatch(/database/);
  await expect
    .poll(readiness)
    .toEqual({ status: 503, cause: expect.stringContaining('No space left on device') as string });
  expect(conductor.log()).toContain('No space left on device');
  await rm(filler);
  await isReady();
  await becomesActive();
});

test('a dump is restored: each node says why it rests, and is adopted as it runs', async () => {
  expect((await operator.node(name))['provision_state']).toBe('active');
  const file = join(directory, 'night.dump');
  const env = { BATON_DATA_DIR: data };
  await run(batonProgram, ['database', 'dump', file], { env, timeoutMs: 240_000 });
  const before = machine.bmc.requests.filter(({ path }) => path.endsWith('Reset')).length;
  await conductor.kill('SIGTERM');
  await rename(join(data, 'postgresql'), join(data, 'former'));
  await run(batonProgram, ['database', 'restore', file], { env, timeoutMs: 240_000 });
  await conductor.start();
  const restored = await operator.node(name);
  expect(restored).toMatchObject({ provision_state: 'active', maintenance: true, fault: 'restored' });
  expect(restored['maintenance_reason']).toContain('restored from a dump: compare it with the machine');
  expect((await baton('status')).stdout).toMatch(new RegExp(`^restored +${name}: .*\n *→ .*baton adopt NODE`, 'm'));
  const { stdout } = await baton('node', 'show', name);
  expect(stdout).toContain('restored');
  await expect(createOperator(conductor.url).provision(name, 'rebuild')).rejects.toThrow(/restored from a dump/);
  await operator.provision(name, 'adopt');
  await operator.waitForState(name, 'active');
  expect((await baton('maintenance', 'off', name)).exitCode).toBe(0);
  expect(await operator.node(name)).toMatchObject({ maintenance: false, fault: null });
  expect((await operator.node(name))['provision_state']).toBe('active');
  expect(machine.bmc.requests.filter(({ path }) => path.endsWith('Reset'))).toHaveLength(before);
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});
