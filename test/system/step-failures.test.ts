import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { demoInstance } from '#test/support/enrol.ts';
import { off, openStepNode, type StepNode, type StepView, step, waitUntil } from '#test/support/step-node.ts';

/**
 * What becomes of a flow, and what the operator is told, when a step of each sort (the agent's, the driver's, the
 * conductor's own) goes wrong in each way. That a conductor dies, or a step runs twice: `every-flow.test.ts`.
 */

let node: StepNode;

/** Each conductor has time limits of its own, so that none strikes where another is meant. */
function withSettings(settings: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    node = await openStepNode({ settings: { BATON_HEARTBEAT_TIMEOUT: '2', ...settings }, plainHttp: true });
  });
  afterAll(() => node.close());
  beforeEach(() => node.heal());
}

interface Told {
  readonly state: string;
  readonly last_error: string;
  readonly advice: string;
  readonly steps: readonly StepView[];
  readonly reservation: unknown;
}

const bios = { interface: 'bios', step: 'apply_configuration', priority: 85 };
const change = (value: string) => ({ ...bios, args: { settings: [{ name: 'SysProfile', value }] } });

async function startDeploy(body: object = {}): Promise<void> {
  await node.rest('available');
  await node.patch('/instance_info', demoInstance);
  await node.operator.provision(node.name, 'active', { ...body });
}

async function told(state: string): Promise<Told> {
  const rested = await node.operator.waitForState(node.name, state, 60_000);
  const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
  return {
    state: String(flow['state']),
    last_error: String(rested['last_error']),
    advice: String(flow['advice']),
    steps: flow['steps'] as StepView[],
    reservation: rested['reservation'],
  };
}

const way = '`baton rebuild stepper` tries again, `baton undeploy stepper` gives the node back.';

/** The end of every failed deploy: step and cause are told, the rest is skipped, the machine is off, nothing is held. */
async function deployFailsIn(failed: string, cause: RegExp): Promise<Told> {
  const end = await told('deploy failed');
  expect(end.last_error).toContain(`deploy step ${failed} failed: `);
  expect(end.last_error).toMatch(cause);
  expect(end).toMatchObject({ state: 'failed', reservation: null });
  const main = end.steps.filter((each) => each.phase === 'main');
  const at = main.findIndex((each) => `${each.interface}.${each.step}` === failed);
  expect(main.map((each) => each.state)).toEqual(
    main.map((_, index) => (index < at ? 'succeeded' : index === at ? 'failed' : 'skipped')),
  );
  expect(end.advice).toContain(way);
  return end;
}

async function logsAreKept(): Promise<boolean> {
  const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
  const answer = await fetch(`${node.conductor.url}/v1/nodes/${node.name}/flow/logs?flow=${String(flow['uuid'])}`);
  if (!answer.ok) return false;
  return gunzipSync(Buffer.from(await answer.arrayBuffer())).length > 0;
}

async function isActive(): Promise<boolean> {
  await node.operator.waitForState(node.name, 'active', 60_000);
  const { power, runs } = node.machine.state();
  return power === 'on' && runs === 'instance';
}

describe('a step fails', () => {
  withSettings({});

  test("the agent's: its words and its logs", async () => {
    node.machine.faults.failStep = { step: 'write_image', message: 'sha256 is aaaa, expected bbbb' };
    await startDeploy();
    const { advice } = await deployFailsIn('deploy.write_image', /sha256 is aaaa, expected bbbb/);
    expect(advice).toMatch(/^Look at the image.* `baton logs stepper` has the agent's logs\.$/);
    expect(await logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test("the driver's, amid the agent's: what the BMC says, and the agent's logs", async () => {
    node.machine.bmc.inject({
      method: 'PATCH',
      path: /Bios/,
      status: 400,
      body: { error: { message: 'SysProfile is locked' } },
    });
    await startDeploy({ deploy_steps: [change('Performance')] });
    const { advice } = await deployFailsIn('bios.apply_configuration', /SysProfile is locked/);
    expect(advice).toContain("`baton logs stepper` has the agent's logs");
    expect(await logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test("the conductor's own, before an agent runs: no logs, and none are promised", async () => {
    node.machine.bmc.inject({ method: 'PATCH', path: /Systems/, status: 400, body: { error: { message: 'no PXE' } } });
    await startDeploy();
    const { advice } = await deployFailsIn('deploy.deploy', /no PXE/);
    expect(advice).not.toContain('baton logs');
    expect(await logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });

  test('the agent answers 500 when it is sent a step', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await onHold();
    node.machine.agentFaults.inject({
      method: 'POST',
      path: /commands/,
      status: 500,
      body: { faultstring: 'no idea' },
    });
    await node.operator.provision(node.name, 'unhold');
    await deployFailsIn('deploy.prepare_disks', /it answered 500: no idea/);
    expect(await logsAreKept()).toBe(true);
  });

  test('the agent answers what is no JSON when it is sent a step', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await onHold();
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, body: '<html>' });
    await node.operator.provision(node.name, 'unhold');
    await deployFailsIn('deploy.prepare_disks', /unexpected answer/);
    expect(node.machine.state()).toEqual(off);
  });

  test('nonsense while a step runs is no reason to stop it', async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 1500 };
    await startDeploy();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ method: 'GET', path: /commands/, status: 500, body: '<html>' });
    node.machine.agentFaults.inject({ method: 'GET', path: /commands/, body: 'half a js' });
    expect(await isActive()).toBe(true);
  });

  test('an agent that dies amid a step is started again, and the step too', async () => {
    node.machine.faults.dieInStep = 'write_image';
    const disk = node.machine.disk.length;
    await startDeploy();
    expect(await isActive()).toBe(true);
    expect(node.machine.disk.slice(disk)).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
  });

  test('an agent that dies while the driver acts is not missed', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Custom')] });
    await onHold();
    await node.machine.stopAgent();
    await node.operator.provision(node.name, 'unhold');
    expect(await isActive()).toBe(true);
  });
});

async function onHold(): Promise<void> {
  await waitUntil('the hold', async () => {
    const { provision_state: state } = await node.operator.node(node.name);
    return state === 'deploy hold' || undefined;
  });
  const { on_hold: reason, advice } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
  expect({ reason, advice }).toEqual({
    reason: "the operator's word (unhold)",
    advice: '`baton unhold stepper` lets it go on, `baton abort stepper` ends it.',
  });
}

describe('another ramdisk after a reboot', () => {
  withSettings({});

  test('a deploy fails, and says that the ramdisk is another one', async () => {
    node.machine.faults.dieInStep = 'write_image';
    node.machine.faults.comesBackAs = '2';
    await startDeploy();
    const { advice } = await deployFailsIn('deploy.write_image', /other hardware manager versions/);
    expect(advice).toContain('serve one ramdisk');
    expect(await logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test('a manual cleaning fails, in maintenance', async () => {
    await node.rest('manageable');
    node.machine.faults.dieInStep = 'careful';
    node.machine.faults.comesBackAs = '3';
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('careful')] });
    const { advice } = await told('clean failed');
    expect(advice).toContain('serve one ramdisk');
    expect(advice).toContain('`baton maintenance off stepper`. Then `baton manage stepper`');
    expect(node.machine.state()).toEqual(off);
  });

  test('automated cleaning begins anew three times, and then fails', async () => {
    await node.rest('manageable');
    await node.patch('/automated_clean', true);
    let version = 10;
    Object.assign(node.machine.faults, {
      dieInStep: 'wipe',
      diesAgain: true,
      comesBackAs: () => String((version += 1)),
    });
    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'provide');
    const { steps, last_error: error } = await told('clean failed');
    await node.patch('/automated_clean', false);
    expect(steps.filter((each) => each.step === 'gather_steps')).toHaveLength(3);
    expect(error).toContain('clean step deploy.wipe failed: the agent came back with other hardware manager versions');
    expect((await node.operator.call('GET', `/v1/nodes/${node.name}/flow`))['restarts']).toBe(3);
    expect(node.machine.disk.slice(disk)).toEqual([]);
    expect(node.machine.state()).toEqual(off);
  });
});

describe('a step takes too long', () => {
  withSettings({ BATON_STEP_TIMEOUT: '2', BATON_CALLBACK_TIMEOUT: '20' });

  test("the agent's: given up on, its logs kept", async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await startDeploy();
    const { advice } = await deployFailsIn('deploy.write_image', /gave up waiting for the agent to finish write_image/);
    expect(advice).toContain('BATON_STEP_TIMEOUT');
    expect(await logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test('an agent that answers nonsense for good is waited for as long as a step may take', async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await startDeploy();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ path: /commands/, status: 500, body: 'Traceback', times: 1000 });
    await deployFailsIn('deploy.write_image', /gave up waiting for the agent to answer again \(.*500: Traceback/);
    expect(await logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });
});

describe('a step takes longer than an agent may be silent', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '4' });

  test('without limit while its agent beats, though it does not answer', async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 6_000 };
    await startDeploy();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ path: /commands/, status: 500, body: 'Traceback', times: 2 });
    const { steps } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    expect(steps).toContainEqual(expect.objectContaining({ step: 'write_image', wait_until: null }));
    expect(await isActive()).toBe(true);
  });
});

describe('nothing is heard any more', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '5' });

  test("in the agent's step: the agent is lost", async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await startDeploy();
    await node.runs('write_image');
    await node.machine.stopAgent();
    const { advice } = await deployFailsIn('deploy.write_image', /the agent is lost \(last heartbeat 2.*ECONNREFUSED/);
    expect(advice).toContain('no longer answers');
    expect(await logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });

  test("in the driver's step: its reset brings no ramdisk back", async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Performance')] });
    await onHold();
    node.machine.faults.bootsNothing = true;
    await node.operator.provision(node.name, 'unhold');
    const { advice } = await deployFailsIn('bios.apply_configuration', /gave up waiting for/);
    expect(advice).toContain("look at the machine's console");
    expect(node.machine.state()).toEqual(off);
  });

  test("in the conductor's own step: no first heartbeat, told while it waits too", async () => {
    node.machine.faults.bootsNothing = true;
    await startDeploy();
    await waitUntil('advice', async () => {
      const { advice } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
      return typeof advice === 'string' && advice.includes("look at the machine's console") ? true : undefined;
    });
    await deployFailsIn('deploy.deploy', /gave up waiting for first heartbeat of the ramdisk/);
    expect(node.machine.state()).toEqual(off);
  });
});

describe('what passes is tried again, for a time', () => {
  withSettings({ BATON_RETRY_TIMEOUT: '4' });
  // the driver's own tries are quick then
  const away = { status: 503, headers: { 'Retry-After': '0' } };

  test('a busy agent is asked again', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await onHold();
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, status: 409, body: { faultstring: 'busy' } });
    await node.operator.provision(node.name, 'unhold');
    expect(await isActive()).toBe(true);
  });

  test('one that is busy for good fails the step', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await onHold();
    const busy = { faultstring: 'agent is busy' };
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, status: 409, body: busy, times: 1000 });
    await node.operator.provision(node.name, 'unhold');
    await deployFailsIn('deploy.prepare_disks', /gave up waiting for another try after: .*agent is busy/);
    expect(node.machine.state()).toEqual(off);
  });

  test.each([
    ['deploy.deploy', { path: /Reset$/, method: 'POST', times: 2 }, []],
    ['bios.apply_configuration', { path: /Bios/, times: 7 }, [change('Custom')]],
  ])('a BMC that is away for a while amid %s', async (_, fault, steps) => {
    node.machine.bmc.inject({ ...fault, ...away });
    await startDeploy({ deploy_steps: steps });
    expect(await isActive()).toBe(true);
  });

  test('a BMC that is away for good: the failure, and what it left undone', async () => {
    await startDeploy({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Performance')] });
    await onHold();
    node.machine.bmc.inject({ path: /.*/, ...away, times: 1e6 });
    await node.operator.provision(node.name, 'unhold');
    const { last_error: error, advice, steps } = await deployFailsIn('bios.apply_configuration', /503/);
    expect(error).toMatch(/clean-up step power\.power_off failed too: gave up waiting for another try after/);
    expect(steps.filter((each) => each.phase === 'cleanup').map((each) => [each.step, each.state])).toEqual([
      ['collect_logs', 'succeeded'],
      ['power_off', 'failed'],
      ['leave_network', 'succeeded'],
    ]);
    expect(advice).toContain('The BMC is the cause');
    expect(await logsAreKept()).toBe(true);
    // nobody could switch it off: it is when the BMC is back, and the operator asks for more
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'ramdisk' });
    node.heal();
    await startDeploy();
    expect(await isActive()).toBe(true);
  });
});
