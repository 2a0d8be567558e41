import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { change, type FailingDeploys, openFailingDeploys } from '#test/support/failing-deploys.ts';
import { off, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/**
 * A flow ends, and the operator reads why, when a step of each sort (the agent's, the driver's, the conductor's own)
 * goes wrong in each way. That a conductor dies, or a step runs twice: `every-flow.test.ts`; that time runs out:
 * `step-timeouts.test.ts`.
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

describe('a step fails', () => {
  withSettings({});

  test("the agent's: its words and its logs", async () => {
    node.machine.faults.failStep = { step: 'write_image', message: 'sha256 is aaaa, expected bbbb' };
    await deploys.start();
    const { advice } = await deploys.failsIn('deploy.write_image', /sha256 is aaaa, expected bbbb/);
    expect(advice).toMatch(/^Look at the image.* `baton logs stepper` has the agent's logs\.$/);
    expect(await deploys.logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test("the driver's, amid the agent's: what the BMC says, and the agent's logs", async () => {
    node.machine.bmc.inject({
      method: 'PATCH',
      path: /Bios/,
      status: 400,
      body: { error: { message: 'SysProfile is locked' } },
    });
    await deploys.start({ deploy_steps: [change('Performance')] });
    const { advice } = await deploys.failsIn('bios.apply_configuration', /SysProfile is locked/);
    expect(advice).toContain("`baton logs stepper` has the agent's logs");
    expect(await deploys.logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test("the conductor's own, before an agent runs: no logs, and none are promised", async () => {
    const refusal = { status: 400, body: { error: { message: 'no PXE' } } };
    node.machine.bmc.inject({ method: 'PATCH', path: /Systems/, ...refusal, times: Number.POSITIVE_INFINITY });
    await deploys.start();
    const { advice } = await deploys.failsIn('deploy.deploy', /no PXE/);
    expect(advice).not.toContain('baton logs');
    expect(await deploys.logsAreKept()).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });

  test('the agent answers 500 when it is sent a step', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await deploys.onHold();
    node.machine.agentFaults.inject({
      method: 'POST',
      path: /commands/,
      status: 500,
      body: { faultstring: 'no idea' },
    });
    await node.operator.provision(node.name, 'unhold');
    await deploys.failsIn('deploy.prepare_disks', /it answered 500: no idea/);
    expect(await deploys.logsAreKept()).toBe(true);
  });

  test('the agent answers what is not JSON when it is sent a step', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 95 })] });
    await deploys.onHold();
    node.machine.agentFaults.inject({ method: 'POST', path: /commands/, body: '<html>' });
    await node.operator.provision(node.name, 'unhold');
    await deploys.failsIn('deploy.prepare_disks', /unexpected answer/);
    expect(node.machine.state()).toEqual(off);
  });

  test('nonsense while a step runs is no reason to stop it', async () => {
    const { promise: until, resolve: letItEnd } = Promise.withResolvers<void>();
    node.machine.faults.slowStep = { step: 'write_image', until };
    await deploys.start();
    await node.runs('write_image');
    node.machine.agentFaults.inject({ method: 'GET', path: /commands/, status: 500, body: '<html>' });
    node.machine.agentFaults.inject({ method: 'GET', path: /commands/, body: 'half a js' });
    await waitUntil('both answers', () => node.machine.agentFaults.left() === 0 || undefined);
    letItEnd();
    expect(await deploys.isActive()).toBe(true);
  });

  test('an agent that dies amid a step is started again, and the step too', async () => {
    node.machine.faults.dieInStep = 'write_image';
    const disk = node.machine.disk.length;
    await deploys.start();
    expect(await deploys.isActive()).toBe(true);
    expect(node.machine.disk.slice(disk)).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
  });

  test('an agent that dies while the driver acts is not missed', async () => {
    await deploys.start({ deploy_steps: [step('hold', { args: {}, priority: 89 }), change('Custom')] });
    await deploys.onHold();
    await node.machine.stopAgent();
    await node.operator.provision(node.name, 'unhold');
    expect(await deploys.isActive()).toBe(true);
  });
});

describe('another ramdisk after a reboot', () => {
  withSettings({});

  test('a deploy fails, and says that the ramdisk is another one', async () => {
    node.machine.faults.dieInStep = 'write_image';
    node.machine.faults.comesBackAs = '2';
    await deploys.start();
    const { advice } = await deploys.failsIn('deploy.write_image', /other hardware manager versions/);
    expect(advice).toContain('serve one ramdisk');
    expect(await deploys.logsAreKept()).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test('a manual cleaning fails, in maintenance', async () => {
    await node.rest('manageable');
    node.machine.faults.dieInStep = 'careful';
    node.machine.faults.comesBackAs = '3';
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('careful')] });
    const { advice } = await deploys.reported('clean failed');
    expect(advice).toContain('serve one ramdisk');
    expect(advice).toContain('`baton maintenance off stepper`. Then `baton manage stepper`');
    expect(node.machine.state()).toEqual(off);
  });

  test('automated cleaning restarts three times, and then fails', async () => {
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
    const { steps, last_error: error } = await deploys.reported('clean failed');
    await node.patch('/automated_clean', false);
    expect(steps.filter((each) => each.step === 'gather_steps')).toHaveLength(3);
    expect(error).toContain('clean step deploy.wipe failed: the agent came back with other hardware manager versions');
    expect((await node.operator.call('GET', `/v1/nodes/${node.name}/flow`))['restarts']).toBe(3);
    expect(node.machine.disk.slice(disk)).toEqual([]);
    expect(node.machine.state()).toEqual(off);
  });
});
