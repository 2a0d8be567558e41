import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { change, type FailingDeploys, openFailingDeploys } from '#test/support/failing-deploys.ts';
import { off, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/**
 * A deploy ends, and the operator reads why, when a step takes too long, nothing is heard any more, or what may pass is
 * tried again. Each conductor has time limits of its own, so that none strikes where another is meant.
 */

let deploys: FailingDeploys;
let node: StepNode;

function withSettings(settings: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    deploys = await openFailingDeploys(settings);
    node = deploys.node;
  });
  afterAll(() => node.close());
  beforeEach(() => node.heal());
}

describe('a step takes too long', () => {
  withSettings({ BATON_STEP_TIMEOUT: '6', BATON_CALLBACK_TIMEOUT: '60' });

  test("the agent's: given up on, its logs kept", async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await deploys.start();
    const { advice } = await deploys.failsIn(
      'deploy.write_image',
      /gave up waiting for the agent to finish write_image/,
    );
    expect(advice).toContain('BATON_STEP_TIMEOUT');
    expect(await deploys.logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test('an agent that answers nonsense for good is waited for as long as a step may take', async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await deploys.start();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ path: /commands/, status: 500, body: 'Traceback', times: 1000 });
    await deploys.failsIn(
      'deploy.write_image',
      /gave up waiting for the agent to answer again \(.*: it answered 500\)/,
    );
    expect(await deploys.logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });
});

describe('a step takes longer than an agent may be silent', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '8' });

  test('without limit while its agent beats, though it does not answer', async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 12_000 };
    await deploys.start();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ path: /commands/, status: 500, body: 'Traceback', times: 2 });
    const { steps } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    expect(steps).toContainEqual(expect.objectContaining({ step: 'write_image', wait_until: null }));
    expect(await deploys.isActive()).toBe(true);
  });
});

describe('nothing is heard any more', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '10' });

  test("in the agent's step: the agent is lost", async () => {
    node.machine.faults.slowStep = { step: 'write_image', ms: 600_000 };
    await deploys.start();
    await node.runs('write_image');
    await node.machine.stopAgent();
    const { advice } = await deploys.failsIn(
      'deploy.write_image',
      /the agent is lost \(last heartbeat 2.*ECONNREFUSED/,
    );
    expect(advice).toContain('no longer answers');
    expect(await deploys.logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });

  test("in the driver's step: its reset brings no ramdisk back", async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Performance')] });
    await deploys.onHold();
    node.machine.faults.bootsNothing = true;
    await node.operator.provision(node.name, 'unhold');
    const { advice } = await deploys.failsIn('bios.apply_configuration', /gave up waiting for/);
    expect(advice).toContain("look at the machine's console");
    expect(node.machine.state()).toEqual(off);
  });

  test("in the conductor's own step: no first heartbeat, told while it waits too", async () => {
    node.machine.faults.bootsNothing = true;
    await deploys.start();
    await waitUntil('advice', async () => {
      const { advice } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
      return typeof advice === 'string' && advice.includes("look at the machine's console") ? true : undefined;
    });
    await deploys.failsIn('deploy.deploy', /gave up waiting for first heartbeat of the ramdisk/);
    expect(node.machine.state()).toEqual(off);
  });
});

describe('what passes is tried again, for a time', () => {
  withSettings({ BATON_RETRY_TIMEOUT: '10' });
  // the driver's own tries are quick then
  const away = { status: 503, headers: { 'Retry-After': '0' } };

  test('a busy agent is asked again', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await deploys.onHold();
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, status: 409, body: { faultstring: 'busy' } });
    await node.operator.provision(node.name, 'unhold');
    expect(await deploys.isActive()).toBe(true);
  });

  test('one that is busy for good fails the step', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await deploys.onHold();
    const busy = { faultstring: 'agent is busy' };
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, status: 409, body: busy, times: 1000 });
    await node.operator.provision(node.name, 'unhold');
    await deploys.failsIn('deploy.prepare_disks', /gave up waiting for another try after: .*agent is busy/);
    expect(node.machine.state()).toEqual(off);
  });

  test.each([
    ['deploy.deploy', { path: /Reset$/, method: 'POST', times: 2 }, []],
    ['bios.apply_configuration', { path: /Bios/, times: 7 }, [change('Custom')]],
  ])('a BMC that is away for a while amid %s', async (_, fault, steps) => {
    node.machine.bmc.inject({ ...fault, ...away });
    await deploys.start({ deploy_steps: steps });
    expect(await deploys.isActive()).toBe(true);
  });

  test('a BMC that is away for good: the failure, and what it left undone', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Performance')] });
    await deploys.onHold();
    node.machine.bmc.inject({ path: /.*/, ...away, times: 1e6 });
    await node.operator.provision(node.name, 'unhold');
    const { last_error: error, advice, steps } = await deploys.failsIn('bios.apply_configuration', /503/);
    expect(error).toMatch(/clean-up step power\.power_off failed too: gave up waiting for another try after/);
    expect(steps.filter((each) => each.phase === 'cleanup').map((each) => [each.step, each.state])).toEqual([
      ['collect_logs', 'succeeded'],
      ['power_off', 'failed'],
      ['leave_network', 'succeeded'],
    ]);
    expect(advice).toContain('The BMC is the cause');
    expect(await deploys.logsAreKept()).toBe(true);
    // nobody could switch it off: it is when the BMC is back, and the operator asks for more
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'ramdisk' });
    node.heal();
    await deploys.start();
    expect(await deploys.isActive()).toBe(true);
  });
});
