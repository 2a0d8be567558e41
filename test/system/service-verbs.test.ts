import { and, eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { agentSteps } from '#conductor/kernel/db/schema/agent.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openStepNode, type StepNode, step } from '#test/support/step-node.ts';

/** A service that does nothing to the machine leaves its instance as it was: refused, aborted, or ended before its first step. */

const running = { power: 'on', runs: 'instance' };
const sensors = { interface: 'management', step: 'get_sensors', args: { fail_at: 'warning' } };

let node: StepNode;
beforeAll(async () => {
  node = await openStepNode();
});
afterAll(() => node.close());
beforeEach(async () => {
  node.heal();
  await node.rest('active');
});

const service = (...service_steps: readonly object[]) =>
  node.operator.provision(node.name, 'service', { service_steps });

async function forgetServiceSteps(): Promise<void> {
  const { db } = node.conductor.context();
  const [row] = await db.select({ uuid: nodes.uuid }).from(nodes).where(eq(nodes.name, node.name));
  if (!row) throw new Error('there is no node');
  await db.delete(agentSteps).where(and(eq(agentSteps.nodeUuid, row.uuid), eq(agentSteps.kind, 'service')));
}

async function stepsOfFlow(): Promise<readonly string[]> {
  const { steps } = await node.flow();
  return steps.map(({ step: name, phase, state }) => `${name} ${phase} ${state}`);
}

/** Aborts a failed service, and gives what that does to the machine. */
async function abort(): Promise<{ boots: number; steps: readonly string[] }> {
  const boots = node.machine.boots();
  await node.operator.provision(node.name, 'abort');
  await node.operator.waitForState(node.name, 'active');
  return { boots: node.machine.boots() - boots, steps: await stepsOfFlow() };
}

describe('a step that nobody has', () => {
  test('is refused at the request, by the list that the deploy has read', async () => {
    await forgetServiceSteps();
    await node.rest('available');
    await node.rest('active');
    const boots = node.machine.boots();
    await expect(service(step('check'), step('chekc'))).rejects.toThrow(
      /no step deploy\.chekc: neither the conductor nor the agent has it \(they have .*deploy\.check.*boots it and reads them again/,
    );
    expect(await node.operator.node(node.name)).toMatchObject({ provision_state: 'active', last_error: null });
    expect(node.machine.boots()).toBe(boots);
  });

  test('is refused in the ramdisk where no list is known: the instance is brought back, and stays on at the abort', async () => {
    await forgetServiceSteps();
    const disk = node.machine.disk.length;
    await service(step('chekc'));
    const failed = await node.operator.waitForState(node.name, 'service failed');
    expect(failed['last_error']).toContain('no step deploy.chekc');
    expect(failed).toMatchObject({ power_state: 'power on', fault: 'service failure' });
    expect(node.machine.state()).toEqual(running);
    expect(node.machine.disk.length).toBe(disk);
    expect((await stepsOfFlow()).filter((each) => each.includes('cleanup'))).toEqual([
      'collect_logs cleanup succeeded',
      'power_off cleanup succeeded',
      'leave_network cleanup succeeded',
      'bring_back_instance cleanup succeeded',
    ]);
    expect(await abort()).toEqual({
      boots: 0,
      steps: ['switch_to_tenant_network main succeeded', 'boot_instance main succeeded'],
    });
    expect(node.machine.state()).toEqual(running);
  });

  test('is not brought back from a ramdisk that can’t be powered off', async () => {
    await forgetServiceSteps();
    let isUp = false;
    node.conductor.atCheckpoints(() => {
      if (!isUp && node.machine.state().runs === 'ramdisk') {
        isUp = true;
        node.machine.bmc.inject({ method: 'POST', path: /ComputerSystem\.Reset$/, status: 400, times: Infinity });
      }
      return 'go on';
    });
    await service(step('chekc'));
    const failed = await node.operator.waitForState(node.name, 'service failed');
    node.conductor.atCheckpoints(() => 'go on');
    expect(failed['last_error']).toContain('the instance is not started: the ramdisk could not be powered off');
    expect(node.machine.state().runs).toBe('ramdisk');
    node.heal();
    // it comes back the long way
    expect((await abort()).steps[0]).toBe('power_off main succeeded');
    expect(node.machine.state()).toEqual(running);
  });
});

test('an abort after a service that left the instance running does not reboot it', async () => {
  const boots = node.machine.boots();
  await node.operator.provision(node.name, 'service', { service_steps: [sensors], disable_ramdisk: true });
  await node.operator.waitForState(node.name, 'service failed');
  expect(node.machine.state()).toEqual(running);
  expect((await abort()).boots).toBe(0);
  expect(node.machine.boots()).toBe(boots);
  expect(node.machine.state()).toEqual(running);
});

test('an instance that was switched off meanwhile is switched on by the abort', async () => {
  await node.operator.provision(node.name, 'service', { service_steps: [sensors], disable_ramdisk: true });
  await node.operator.waitForState(node.name, 'service failed');
  await node.operator.call('PUT', `/v1/nodes/${node.name}/states/power`, { target: 'power off' });
  await expect.poll(async () => (await node.operator.node(node.name))['power_state']).toBe('power off');
  expect((await abort()).boots).toBe(1);
  expect(node.machine.state()).toEqual(running);
});

test('an abort amid the boot of the ramdisk leaves the machine off, and the next one brings the instance back', async () => {
  node.machine.faults.bootsNothing = true;
  await service(step('check'));
  const isBooting = async () => (await stepsOfFlow()).includes('boot_ramdisk main waiting');
  await expect.poll(isBooting).toBe(true);
  await node.operator.provision(node.name, 'abort');
  const failed = await node.operator.waitForState(node.name, 'service failed');
  expect(failed['power_state']).toBe('power off');
  node.heal();
  expect((await abort()).boots).toBe(1);
  expect(node.machine.state()).toEqual(running);
});
