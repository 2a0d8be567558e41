import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { off, openStepNode, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/** Lists of steps of the operator's own: order, arguments, holds, aborts. */

let node: StepNode;
beforeAll(async () => {
  node = await openStepNode();
});
afterAll(() => node.close());
beforeEach(() => node.heal());

describe('manual cleaning', () => {
  beforeEach(() => node.rest('manageable'));

  test('runs what is listed, in that order, reboots where a step wants it, and ends manageable', async () => {
    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'clean', {
      clean_steps: [step('careful', { args: { note: 'first' } }), step('flash'), step('wipe')],
    });
    await node.operator.waitForState(node.name, 'manageable');
    expect(node.machine.disk.slice(disk)).toEqual(['careful', 'flash', 'wipe']);
    expect((await node.flow()).steps.map((each) => each.step)).toEqual([
      'boot_ramdisk',
      'careful',
      'flash',
      'reboot_ramdisk',
      'wipe',
      'tear_down_agent',
      'leave_network',
    ]);
    expect(node.machine.state()).toEqual(off);
  });

  test.each([
    [{ clean_steps: [step('careful', { args: { loudly: true } })] }, 'unknown argument loudly; it takes note'],
    [{ clean_steps: [step('careful', { priority: 3 })] }, 'priority'],
    [{ clean_steps: [{ interface: 'deploy' }] }, 'step'],
    [{ clean_steps: [{ step: 'careful', interface: 'disk' }] }, 'interface: must be one of'],
  ])('refuses %j before anything happens', async (body, fault) => {
    await expect(node.operator.provision(node.name, 'clean', body)).rejects.toThrow(fault);
    expect((await node.operator.node(node.name))['provision_state']).toBe('manageable');
  });

  test('a step that nobody has fails once the agent has told its list', async () => {
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('polish')] });
    const failed = await node.operator.waitForState(node.name, 'clean failed');
    expect(failed['last_error']).toContain('no step deploy.polish');
    expect(failed['maintenance']).toBe(true);
    expect(node.machine.state()).toEqual(off);
  });

  test('holds until the operator says unhold, with reboot, wait and power_off between steps', async () => {
    const disk = node.machine.disk.length;
    const list = [
      step('wipe'),
      step('hold'),
      step('reboot'),
      step('wait', { args: { seconds: 0.2 } }),
      step('careful'),
    ];
    await node.operator.provision(node.name, 'clean', { clean_steps: list });
    await waitUntil(
      'the hold',
      async () => (await node.operator.node(node.name))['provision_state'] === 'clean hold' || undefined,
    );
    expect(node.machine.disk.slice(disk)).toEqual(['wipe']);
    expect((await node.flow()).steps.find((each) => each.step === 'hold')?.waiting_for).toContain('unhold');
    await node.operator.provision(node.name, 'unhold');
    await node.operator.waitForState(node.name, 'manageable');
    expect(node.machine.disk.slice(disk)).toEqual(['wipe', 'careful']);
    expect((await node.flow()).steps.every((each) => each.state === 'succeeded')).toBe(true);
  });

  test('a step that is skipped meanwhile is not run, and the others are', async () => {
    const disk = node.machine.disk.length;
    const list = [step('hold'), step('wipe'), step('careful')];
    await node.operator.provision(node.name, 'clean', { clean_steps: list });
    await waitUntil(
      'the hold',
      async () => (await node.operator.node(node.name))['provision_state'] === 'clean hold' || undefined,
    );
    const { steps } = await node.flow();
    const wipe = steps.find((each) => each.step === 'wipe');
    await node.operator.call('POST', `/v1/nodes/${node.name}/flow/skip`, { step: wipe?.uuid });
    await node.operator.provision(node.name, 'unhold');
    await node.operator.waitForState(node.name, 'manageable');
    expect(node.machine.disk.slice(disk)).toEqual(['careful']);
    expect((await node.flow()).steps.map((each) => [each.step, each.state])).toContainEqual(['wipe', 'skipped']);
  });

  test('abort on hold ends it: clean failed, off, without maintenance', async () => {
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('hold'), step('wipe')] });
    await waitUntil(
      'the hold',
      async () => (await node.operator.node(node.name))['provision_state'] === 'clean hold' || undefined,
    );
    await node.operator.provision(node.name, 'abort');
    expect((await node.operator.waitForState(node.name, 'clean failed'))['maintenance']).toBe(false);
    expect(node.machine.state()).toEqual(off);
  });

  test('abort stops an abortable step at once', async () => {
    node.machine.faults.slowStep = { step: 'burn_in', ms: 600_000 };
    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('burn_in'), step('wipe')] });
    await node.runs('burn_in');
    await node.operator.provision(node.name, 'abort');
    await node.operator.waitForState(node.name, 'clean failed');
    expect(node.machine.disk.slice(disk)).toEqual([]);
  });

  test('abort lets a step end that may not be interrupted, and nothing after it begins', async () => {
    const { promise: until, resolve: letItEnd } = Promise.withResolvers<void>();
    node.machine.faults.slowStep = { step: 'careful', until };
    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('careful'), step('wipe')] });
    await node.runs('careful');
    await node.operator.provision(node.name, 'abort');
    expect((await node.operator.node(node.name))['provision_state']).toBe('clean wait');
    letItEnd();
    const failed = await node.operator.waitForState(node.name, 'clean failed');
    expect(failed['last_error']).toContain("stopped by the operator's 'abort'");
    expect(node.machine.disk.slice(disk)).toEqual(['careful']);
  });

  test('with disable_ramdisk boots nothing, and refuses in-band steps', async () => {
    const refused = node.operator.provision(node.name, 'clean', { clean_steps: [step('wipe')], disable_ramdisk: true });
    await expect(refused).rejects.toThrow('no agent runs there');
    await node.operator.provision(node.name, 'clean', {
      clean_steps: [step('power_on'), step('power_off')],
      disable_ramdisk: true,
    });
    await node.operator.waitForState(node.name, 'manageable');
    expect((await node.flow()).steps.map((each) => each.step)).toEqual(['power_on', 'power_off', 'leave_network']);
    expect(node.machine.state()).toEqual(off);
  });
});
