import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { demoInstance } from '#test/support/enrol.ts';
import { off, openStepNode, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/** Other ramdisks after a reboot, service of an instance, fast track. */

let node: StepNode;
beforeAll(async () => {
  node = await openStepNode();
});
afterAll(() => node.close());
beforeEach(() => node.heal());

describe('another ramdisk after a reboot', () => {
  test('automated cleaning restarts with its steps', async () => {
    await node.rest('manageable');
    await node.patch('/automated_clean', true);
    const disk = node.machine.disk.length;
    node.machine.faults.dieInStep = 'wipe';
    node.machine.faults.comesBackAs = '2';
    await node.operator.provision(node.name, 'provide');
    await node.operator.waitForState(node.name, 'available');
    await node.patch('/automated_clean', false);
    const { steps } = await node.flow();
    expect(node.machine.disk.slice(disk)).toEqual(['wipe']);
    expect(steps.map(({ step: each, state }) => [each, state])).toEqual([
      ['boot_ramdisk', 'succeeded'],
      ['wipe', 'skipped'],
      ['gather_steps', 'succeeded'],
      ['wipe', 'succeeded'],
      ['tear_down_agent', 'succeeded'],
      ['leave_network', 'succeeded'],
    ]);
    expect(steps[1]?.error).toContain('cleaning restarts');
  });

  test('a deploy ends', async () => {
    await node.rest('available');
    await node.patch('/instance_info', demoInstance);
    node.machine.faults.dieInStep = 'tune_image';
    node.machine.faults.comesBackAs = '2';
    await node.operator.provision(node.name, 'active');
    const failed = await node.operator.waitForState(node.name, 'deploy failed');
    expect(failed['last_error']).toContain('other hardware manager');
    expect(node.machine.state()).toEqual(off);
  });
});

describe('service', () => {
  beforeEach(() => node.rest('active'));

  test('takes the instance through the ramdisk and back', async () => {
    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'service', { service_steps: [step('update_firmware'), step('check')] });
    await node.operator.waitForState(node.name, 'active');
    expect(node.machine.disk.slice(disk)).toEqual(['update_firmware', 'check']);
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'instance' });
  });

  test('of a step that nobody has is refused, and the instance runs on', async () => {
    const boots = node.machine.boots();
    const service_steps = [step('chekc')];
    const asked = node.operator.provision(node.name, 'service', { service_steps });
    await expect(asked).rejects.toThrow('no step deploy.chekc');
    expect(node.machine.boots()).toBe(boots);
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'instance' });
  });

  test('that fails leaves the machine off; abort brings the instance back', async () => {
    node.machine.faults.failStep = { step: 'check', message: 'the card is dead' };
    await node.operator.provision(node.name, 'service', { service_steps: [step('check')] });
    const failed = await node.operator.waitForState(node.name, 'service failed');
    expect(failed).toMatchObject({ maintenance: true, fault: 'service failure' });
    expect(failed['last_error']).toContain('the card is dead');
    expect(node.machine.state()).toEqual(off);
    await node.operator.call('DELETE', `/v1/nodes/${node.name}/maintenance`);
    await node.operator.provision(node.name, 'abort');
    await waitUntil('the instance', () => node.machine.state().runs === 'instance' || undefined);
    await node.operator.waitForState(node.name, 'active');
  });
});

describe('fast track', () => {
  test('the ramdisk of a cleaning runs on, and the deploy does not boot it again', async () => {
    await node.rest('manageable');
    await node.patch('/driver_info/fast_track', true);
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('wipe')] });
    await node.operator.waitForState(node.name, 'manageable');
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'ramdisk' });
    await node.rest('available');
    await node.patch('/instance_info', demoInstance);
    const boots = node.machine.boots();
    await node.operator.provision(node.name, 'active');
    await node.operator.waitForState(node.name, 'active');
    expect(node.machine.state()).toEqual({ power: 'on', runs: 'instance' });
    // the instance's own
    expect(node.machine.boots() - boots).toBe(1);
    expect(node.machine.disk.slice(-3)).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
    await node.patch('/driver_info/fast_track', false);
  });

  test('a ramdisk that no longer answers is booted', async () => {
    await node.rest('manageable');
    await node.patch('/driver_info/fast_track', true);
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('wipe')] });
    await node.operator.waitForState(node.name, 'manageable');
    await node.machine.stopAgent();
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('careful')] });
    await node.operator.waitForState(node.name, 'manageable');
    expect(node.machine.disk.at(-1)).toBe('careful');
    await node.patch('/driver_info/fast_track', false);
  });

  test('is true or false', async () => {
    await node.rest('manageable');
    await node.patch('/driver_info/fast_track', 'maybe');
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('wipe')] });
    const failed = await node.operator.waitForState(node.name, 'clean failed');
    expect(failed['last_error']).toContain('driver_info.fast_track: it must be true or false');
    await node.patch('/driver_info/fast_track', false);
  });
});
