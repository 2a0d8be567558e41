import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { off, openStepNode, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/** Operators read before anything happens what happens then. */

let node: StepNode;
beforeAll(async () => {
  node = await openStepNode();
});
afterAll(() => node.close());
beforeEach(() => node.heal());

describe('a plan', () => {
  const plan = (body: object) => node.operator.call('POST', `/v1/nodes/${node.name}/plan`, body);
  const stepsOf = (view: Record<string, unknown>) =>
    (view['steps'] as { step: string; reason: string; origin: string }[]).map((each) => each);

  test('of a node whose ramdisk has never been asked says so', async () => {
    const view = await plan({});
    expect(view).toMatchObject({ complete: false, predicted_seconds: null });
    expect((view['warnings'] as string[])[0]).toContain("The agent's steps are not known");
    // a cleaning asks it
    await node.rest('manageable');
    await node.operator.provision(node.name, 'clean', { clean_steps: [step('wipe')] });
    await node.operator.waitForState(node.name, 'manageable');
    expect(await plan({})).toMatchObject({ complete: true });
  });

  test('says why each step is there, from template and request; the deploy does what was read', async () => {
    await node.rest('available');
    await node.operator.call('POST', '/v1/deploy_templates', {
      name: 'CUSTOM_TUNED',
      steps: [{ ...step('prepare_disks'), args: {}, priority: 95 }],
    });
    await node.operator.call('PUT', `/v1/nodes/${node.name}/traits`, { traits: ['CUSTOM_TUNED'] });
    await node.patch('/instance_info', { ...demoInstance, traits: ['CUSTOM_TUNED'] });
    const deploySteps = [{ ...step('tune_image'), args: { note: 'x' }, priority: 0 }];
    const view = await plan({ deploy_steps: deploySteps });
    expect(stepsOf(view).map((each) => each.step)).toEqual([
      'deploy',
      'prepare_disks',
      'write_image',
      'prepare_instance_boot',
      'tear_down_agent',
      'switch_to_tenant_network',
      'boot_instance',
    ]);
    expect(stepsOf(view)[1]).toMatchObject({ origin: 'template' });
    expect(stepsOf(view)[1]?.reason).toBe(
      'template CUSTOM_TUNED asks for it at priority 95; overrides: the agent offers it at priority 90',
    );
    expect(view).toMatchObject({ complete: true, reboots: 2 });
    expect(view['predicted_seconds']).toBeNull();
    const state = await node.operator.node(node.name);
    expect(state).toMatchObject({ provision_state: 'available', power_state: 'power off' });

    const disk = node.machine.disk.length;
    await node.operator.provision(node.name, 'active', { deploy_steps: deploySteps, plan_hash: view['hash'] });
    await node.operator.waitForState(node.name, 'active');
    expect(node.machine.disk.slice(disk)).toEqual(['prepare_disks', 'write_image demo.raw']);
    // every one of these steps has run now
    expect((await plan({ deploy_steps: deploySteps }))['predicted_seconds']).toBeGreaterThan(0);
    await node.operator.call('DELETE', `/v1/nodes/${node.name}/traits`);
  });

  test('that is another by now is refused, and the node is left alone', async () => {
    await node.rest('available');
    await node.patch('/instance_info', demoInstance);
    const { hash } = await plan({});
    await node.patch('/instance_info/image_os_hash_value', 'a'.repeat(64));
    const refused = node.operator.provision(node.name, 'active', { plan_hash: hash });
    await expect(refused).rejects.toThrow(/409.*plan_hash: the plan is no longer the one that was read/);
    expect((await node.operator.node(node.name))['provision_state']).toBe('available');
  });

  test('of a ramdisk that has changed since fails before the image is written', async () => {
    await node.rest('available');
    await node.patch('/instance_info', demoInstance);
    const { hash } = await plan({});
    const other = await startSimulatedNode({
      conductorUrl: () => node.conductor.url,
      mac: node.machine.mac,
      deploySteps: { prepare_disks: 90, tune_image: 70, surprise: 65 },
    });
    try {
      await node.patch('/driver_info', other.driverInfo);
      await node.operator.provision(node.name, 'active', { plan_hash: hash });
      const failed = await node.operator.waitForState(node.name, 'deploy failed');
      expect(failed['last_error']).toContain('the plan is no longer the one that was read');
      expect(other.disk).toEqual([]);
      expect(other.state()).toEqual(off);
    } finally {
      await node.patch('/driver_info', node.machine.driverInfo);
      await other.close();
    }
  });

  test.each([
    [{ target: 'clean' }, 'clean_steps: it must be given'],
    [
      { target: 'active', clean_steps: [step('wipe')] },
      "clean_steps: it is only possible with target clean, not with 'active'",
    ],
    [{ target: 'fly' }, 'target: must be one of active'],
    [{ deploy_steps: [{ ...step('boot_instance'), args: {}, priority: 0 }] }, "is the conductor's own step"],
  ])('of %j is refused', async (body, fault) => {
    await expect(plan(body)).rejects.toThrow(fault);
  });
});

describe('boot from volume', () => {
  test('boots the instance without image and without agent', async () => {
    await node.rest('available');
    const { uuid } = await node.operator.node(node.name);
    const volume = await node.operator.call('POST', '/v1/volume/targets', {
      node_uuid: uuid,
      volume_type: 'iscsi',
      volume_id: 'disk-7',
      boot_index: 0,
      properties: { target_portal: '192.0.2.5:3260', target_iqn: 'iqn.2026-01.org.example:disk', target_lun: 1 },
    });
    try {
      await node.patch('/instance_info', {});
      const refused = node.operator.provision(node.name, 'active', {
        deploy_steps: [{ ...step('prepare_disks'), args: {}, priority: 90 }],
      });
      await expect(refused).rejects.toThrow('no agent runs there, for the node boots from volume disk-7');
      const disk = node.machine.disk.length;
      await node.operator.provision(node.name, 'active');
      await node.operator.waitForState(node.name, 'active');
      expect((await node.flow()).steps.map((each) => each.step)).toEqual([
        'power_off',
        'prepare_instance_boot',
        'switch_to_tenant_network',
        'boot_instance',
      ]);
      expect(node.machine.disk.length).toBe(disk);
      const script = await (await fetch(`${node.conductor.url}/boot/node.ipxe?mac=${node.machine.mac}`)).text();
      expect(script).toContain('sanboot --no-describe iscsi:192.0.2.5::3260:1:iqn.2026-01.org.example:disk');
      await node.rest('available');
    } finally {
      await node.operator.call('DELETE', `/v1/nodes/${node.name}/maintenance`);
      await node.operator.call('PUT', `/v1/nodes/${node.name}/states/power`, { target: 'power off' });
      await waitUntil(
        'power off',
        async () => (await node.operator.node(node.name))['power_state'] === 'power off' || undefined,
      );
      await node.operator.call('DELETE', `/v1/volume/targets/${String(volume['uuid'])}`);
    }
  });
});
