import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createShellOpener } from '#agent/console/serve-console.ts';
import { openConsole } from '#conductor/cli/console.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { createLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createTestTerminal, type TestTerminal } from '#test/support/console-terminal.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** `baton console` through a whole conductor and a real agent to a real terminal on this host. */

const log = createLog({ component: 'test', level: 'fatal' });
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LC_ALL: 'C.UTF-8', PS1: '$ ', ENV: '' };

let conductor: ConductorInProcess;
let operator: Operator;
let isStopped = false;
const nodes: SimulatedNode[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({ log, settings: { BATON_CONSOLE: 'loopback' } });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  if (!isStopped) await conductor.close();
});

interface DeployingNode {
  readonly name: string;
  /** `write_image` ends; `tune_image` begins. */
  readonly endWriting: () => void;
  readonly endTuning: () => void;
}

/** A node in a deploy amid the step `write_image`; it and the next go on until they are told to end. */
async function deployingNode(mac: string): Promise<DeployingNode> {
  const simulated = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac,
    deploySteps: { tune_image: 70 },
    openTerminal: createShellOpener('/bin/sh', environment),
  });
  nodes.push(simulated);
  const { promise: written, resolve: endWriting } = Promise.withResolvers<void>();
  const { promise: tuned, resolve: endTuning } = Promise.withResolvers<void>();
  const tuneNext = (): void => {
    simulated.faults.slowStep = { step: 'tune_image', until: tuned };
  };
  simulated.faults.slowStep = { step: 'write_image', until: written.then(tuneNext) };
  const name = await enrolSimulatedNode(operator, simulated, `console-${mac.slice(-2)}`);
  await operator.provision(name, 'active');
  await runningStep(name, 'write_image');
  return { name, endWriting, endTuning };
}

async function runningStep(name: string, step: string): Promise<void> {
  await waitUntil(
    `${step} to run`,
    async () => {
      const flow = await operator.call('GET', `/v1/nodes/${name}/flow`).catch(() => ({ steps: [] }));
      const steps = flow['steps'] as { step: string; state: string; in_band: boolean }[];
      return steps.some((each) => each.step === step && each.in_band && each.state !== 'pending') || undefined;
    },
    { everyMs: 50 },
  );
}

function connectionTo(url: string): Parameters<typeof openConsole>[0] {
  const settings = readClientSettings({ BATON_URL: url }, { insecure: false });
  return { client: createApiClient(settings), settings };
}

function sit(name: string): TestTerminal & { readonly ended: Promise<unknown> } {
  const terminal = createTestTerminal();
  const ended = openConsole(connectionTo(conductor.url), name, terminal.terminal).catch((error: unknown) => error);
  return { ...terminal, ended };
}

async function consoleHistory(name: string): Promise<string[]> {
  const { history } = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
  return (history as { event: string; event_type: string }[])
    .filter((entry) => entry.event_type === 'console')
    .map(({ event }) => event);
}

describe('a shell in the ramdisk', () => {
  let name: string;
  beforeAll(async () => {
    ({ name } = await deployingNode('52:54:00:c0:00:01'));
  });
  const open: ReturnType<typeof sit>[] = [];
  afterEach(async () => {
    for (const terminal of open.splice(0)) {
      terminal.type('\r~.');
      await terminal.ended;
    }
  });
  const begin = async (): Promise<ReturnType<typeof sit>> => {
    const terminal = sit(name);
    open.push(terminal);
    await terminal.sees(/[#$] /);
    return terminal;
  };

  test('is a terminal: echo, size, Ctrl-C, UTF-8, exit code, and a record of it', async () => {
    const terminal = await begin();
    expect(terminal.isRaw()).toBe(true);
    terminal.type('tty; echo $TERM; stty size\r');
    await terminal.sees(/\/dev\/pts\/\d+\r\nxterm-256color\r\n24 80\r\n/);
    terminal.resize(132, 50);
    terminal.type('stty size\r');
    await terminal.sees(/50 132\r\n/);
    // told by what the Ctrl-C is for: the shell itself would not pass it on
    terminal.type('sh -c \'echo be""gun; exec sleep 600\'\r');
    await terminal.sees(/begun\r\n/);
    terminal.type('\u0003');
    await terminal.sees(/\^C/);
    terminal.type('echo after=$?\r');
    await terminal.sees(/after=130\r\n/);
    const [first, second] = [Buffer.from('echo "Grüße €').subarray(0, 9), Buffer.from('echo "Grüße €').subarray(9)];
    expect(first.toString()).toContain('\uFFFD'); // cut in the middle of a character
    terminal.type(first);
    terminal.type(second);
    terminal.type('\u{1F600}" | tr a-z A-Z\r');
    await terminal.sees(/GRüßE €\u{1F600}\r\n/u);
    terminal.type('exit 3\r');
    expect(await terminal.ended).toMatchObject({ code: 'command_failed', message: 'the shell ended with 3' });
    expect(terminal.isRaw()).toBe(false);
    await waitUntil('the end to be recorded', async () => (await consoleHistory(name)).length === 2 || undefined, {
      everyMs: 50,
    });
    expect(await consoleHistory(name)).toEqual([
      'console opened by somebody at 127.0.0.1 during deploy.write_image',
      expect.stringMatching(
        /^console of somebody at 127\.0\.0\.1 closed after \d+ s: the shell ended with 3$/,
      ) as unknown,
    ]);
  });

  test('passes on a flood no faster than it is read, and all of it', async () => {
    const terminal = await begin();
    terminal.type('seq 1 100000; echo "done"\r');
    await terminal.sees(/\r\n100000\r\ndone\r\n/);
    expect(terminal.text().length).toBeGreaterThan(680_000);
  });

  test('`~.` leaves, and what runs in the background ends with the shell', async () => {
    const terminal = await begin();
    terminal.type('trap "" HUP; sleep 601 & echo pid=$!\r');
    await terminal.sees(/pid=\d+\r\n/);
    const pid = Number(/pid=(\d+)\r/.exec(terminal.text())?.[1]);
    expect(() => process.kill(pid, 0)).not.toThrow();
    terminal.type('\r~.');
    expect(await terminal.ended).toBeUndefined();
    await waitUntil('the background job to be gone', () => Promise.resolve(isGone(pid) || undefined), {
      everyMs: 50,
    });
  });

  test('input that nobody reads does not fill the memory, and does not stop the shell', async () => {
    const terminal = await begin();
    terminal.type('stty raw -echo; sleep 2; stty sane; echo; echo alive\r');
    await terminal.sees(/alive\r/);
    const paste = 'x'.repeat(64 * 1024);
    for (let count = 0; count < 8; count++) terminal.type(paste);
    expect(await terminal.sees(/\r\nalive\r\n/)).toContain('alive');
  });
});

test('it is closed when the flow moves on', async () => {
  const { name, endWriting, endTuning } = await deployingNode('52:54:00:c0:00:02');
  const terminal = sit(name);
  await terminal.sees(/[#$] /);
  endWriting();
  expect(await terminal.ended).toMatchObject({
    code: 'aborted',
    message: expect.stringMatching(/^the console was closed: step deploy\.\w+ (begins|has ended)$/) as unknown,
  });
  endTuning();
  await operator.waitForState(name, 'active');
  const again = await sit(name).ended;
  expect(again).toMatchObject({ message: 'the node is not in the ramdisk: no agent has called in' });
});

test('a page of a web site gets none, a plain request that would upgrade to something else is answered', async () => {
  const url = `${conductor.url}/v1/nodes/x/console/shell`;
  const page = await fetch(url, { headers: { Origin: 'https://evil.example' } });
  expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('Origin header') as unknown]);
  const { request } = await import('node:http');
  const status = await new Promise((resolve, reject) => {
    request(conductor.url, { headers: { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c' } }, (answer) =>
      resolve(answer.statusCode),
    )
      .once('error', reject)
      .end();
  });
  expect(status).toBe(200);
});

test.each([
  [{}, 'the setting BATON_CONSOLE does not allow it'],
  [
    {
      BATON_CONSOLE: 'loopback',
      BATON_HOST: '0.0.0.0',
      BATON_ALLOW_UNAUTHENTICATED: 'true',
      BATON_PUBLIC_URL: 'http://192.0.2.1:6385',
    },
    'listens on 0.0.0.0',
  ],
])('it is refused with %j', async (settings, why) => {
  const other = await startConductorInProcess({ log, settings });
  try {
    await createOperator(other.url).call('POST', '/v1/nodes', { name: 'n', driver: 'fake-hardware' });
    const refusal = await openConsole(connectionTo(other.url), 'n', createTestTerminal().terminal).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ message: expect.stringContaining(why) as unknown });
  } finally {
    await other.close();
  }
});

test('it is closed, with the reason, when the conductor stops', async () => {
  const { name } = await deployingNode('52:54:00:c0:00:03');
  const terminal = sit(name);
  await terminal.sees(/[#$] /);
  isStopped = true;
  await conductor.close();
  expect(await terminal.ended).toMatchObject({ message: 'the console was closed: the conductor stops' });
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
