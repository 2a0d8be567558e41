import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** A conductor process, Redfish BMCs and real agents over real HTTP; only the disks are pretended. */

let conductor: ConductorProcess;
let operator: Operator;
let machine: SimulatedNode;
let count = 0;
let name: string;

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
});

beforeEach(async () => {
  count += 1;
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: `52:54:00:00:00:${count.toString(16).padStart(2, '0')}`,
  });
  name = await enrolSimulatedNode(operator, machine, `node-${count}`);
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-6000));
  });
  return () => machine.close();
});

async function steps(): Promise<
  { step: string; state: string; phase: string; waiting_for: string | null; error: string | null }[]
> {
  const flow = await operator.call('GET', `/v1/nodes/${name}/flow`);
  return flow['steps'] as {
    step: string;
    state: string;
    phase: string;
    waiting_for: string | null;
    error: string | null;
  }[];
}

test('deploys through the decomposed sequence with the agent’s own steps in place', async () => {
  const configdrive = { meta_data: { hostname: 'one' } };
  await operator.provision(name, 'active', { configdrive });
  await operator.waitForState(name, 'active');

  expect((await steps()).map((step) => step.step)).toEqual([
    'deploy',
    'prepare_disks',
    'write_image',
    'tune_image',
    'prepare_instance_boot',
    'tear_down_agent',
    'switch_to_tenant_network',
    'boot_instance',
  ]);
  expect((await steps()).filter((step) => step.state !== 'succeeded')).toEqual([]);
  expect(machine.disk).toEqual(['prepare_disks', 'write_image demo.raw with config drive', 'tune_image']);
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});

test('undeploy powers off, cleans when asked to and forgets the instance', async () => {
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'replace', path: '/automated_clean', value: true }]);

  await operator.provision(name, 'deleted');

  const node = await operator.waitForState(name, 'available');
  expect(node['instance_info']).toEqual({});
  // a wipe after the release still has to know which disk the image was written to
  expect(node['driver_internal_info']).toMatchObject({
    baton_os_disk: { array_uuid: null, disks: [{ name: '/dev/sda', serial: `disk-of-${machine.mac}` }] },
  });
  expect(machine.disk.at(-1)).toBe('erase_devices_metadata');
  expect(machine.state()).toEqual({ power: 'off', runs: 'nothing' });
});

test('a failed step ends in deploy failed with the whole cause, machine off', async () => {
  machine.faults.failStep = { step: 'write_image', message: 'sha256 is aaaa, expected bbbb' };
  await operator.provision(name, 'active');

  const node = await operator.waitForState(name, 'deploy failed');

  expect(node['last_error']).toMatch(/deploy\.write_image.*sha256 is aaaa, expected bbbb/);
  expect(machine.state()).toEqual({ power: 'off', runs: 'nothing' });
  const run = await steps();
  expect(run.find((step) => step.step === 'write_image')).toMatchObject({ state: 'failed' });
  expect(run.find((step) => step.step === 'boot_instance')).toMatchObject({ state: 'skipped' });
  expect(run.filter((step) => step.phase === 'cleanup').map((step) => step.state)).toEqual([
    'succeeded',
    'succeeded',
    'succeeded',
  ]);
});

test('after a failure the same node deploys', async () => {
  machine.faults.failStep = { step: 'write_image', message: 'no such image', once: true };
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'deploy failed');
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});

test('an agent that dies in mid-step is asked, and the step run again', async () => {
  machine.faults.dieInStep = 'write_image';
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect(machine.disk).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
});

test('a BMC that is away for a moment is waited for, with the reason shown', async () => {
  machine.bmc.inject({ method: 'POST', path: /Reset/, status: 503, times: 8 });
  await operator.provision(name, 'active');
  await expect
    .poll(async () => (await steps()).find((step) => step.state === 'waiting')?.waiting_for)
    .toMatch(/another try after: .*503/);
  await operator.waitForState(name, 'active');
});

test('an operator’s undeploy while a deploy waits ends it', async () => {
  machine.faults.bootsNothing = true;
  await operator.provision(name, 'active');
  await expect.poll(async () => (await operator.node(name))['provision_state']).toBe('wait call-back');
  const waiting = (await steps()).find((step) => step.state === 'waiting');
  expect(waiting).toMatchObject({ step: 'deploy', waiting_for: 'first heartbeat of the ramdisk' });

  await operator.provision(name, 'deleted');

  await operator.waitForState(name, 'available');
  expect(machine.state()).toEqual({ power: 'off', runs: 'nothing' });
});

test('an operator’s abort ends in deploy failed, machine off', async () => {
  machine.faults.bootsNothing = true;
  await operator.provision(name, 'active');
  await expect.poll(async () => (await operator.node(name))['provision_state']).toBe('wait call-back');

  await operator.provision(name, 'abort');

  const node = await operator.waitForState(name, 'deploy failed');
  expect(node['last_error']).toContain("stopped by the operator's 'abort'");
  expect(machine.state()).toEqual({ power: 'off', runs: 'nothing' });
});

test('verbs that are not possible are refused with those that are', async () => {
  await expect(operator.provision(name, 'rebuild')).rejects.toThrow(/400.*Possible now: manage, active, deploy/);
});
