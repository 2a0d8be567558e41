import { afterAll, beforeAll, expect, test } from 'vitest';
import { getNode } from '#conductor/nodes/node-store.ts';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Wipes, those that preserve and those that fail, leave things behind for whatever comes after them. */

const name = 'wiped';
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:04:02',
    moreDisks: [{ name: '/dev/sdb', serial: 'DATA-1' }],
  });
  await enrolSimulatedNode(operator, machine, name);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

const flow = async () => operator.call('GET', `/v1/nodes/${name}/flow`);

test('what a wipe has preserved outlives a deploy that fails, and the cleaning after it', async () => {
  const clean = async (value: boolean) =>
    operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/automated_clean', value }]);
  const spared = async () => (await getNode(conductor.context().db, name)).sparedDisks;
  const lastOf = (step: string) => machine.stepTimes.findLast((each) => each.step === step)?.skipList;
  const onList = expect.arrayContaining([expect.objectContaining({ serial: 's== DATA-1' })]) as unknown;
  await operator.provision(name, 'deleted', { wipe: { preserve_local_storage: true } });
  await operator.waitForState(name, 'available');
  expect(await spared()).toEqual([expect.objectContaining({ serial: 'DATA-1' })]);

  // out of the pool and in again: an ordinary clean
  await clean(true);
  await operator.provision(name, 'manage');
  const plan = await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'provide' });
  expect(plan['kind']).toBe('clean');
  expect(plan['warnings']).toContainEqual(expect.stringContaining('A wipe has preserved DATA-1'));
  expect((plan['destroys'] as { serial: string }[]).map(({ serial }) => serial)).not.toContain('DATA-1');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  expect(lastOf('erase_devices_metadata')).toEqual(onList);

  // an instance that never comes up, and is given up
  machine.faults.failStep = { step: 'write_image', message: 'no such image', once: true };
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'deploy failed');
  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  expect(lastOf('erase_devices_metadata')).toEqual(onList);
  expect(await spared()).toHaveLength(1);

  // one that comes up has them, until it is released
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect(lastOf('write_image')).toEqual(onList);
  expect(await spared()).toHaveLength(1);
  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  expect(await spared()).toBeNull();
  expect(lastOf('erase_devices_metadata')).toBeUndefined();
  await clean(false);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
});

test('a wipe that has failed never ends in available: providing the node wipes it', async () => {
  machine.faults.provesNoErase = true;
  await operator.provision(name, 'deleted', { wipe: { preserve_local_storage: false } });
  await operator.waitForState(name, 'clean failed');
  const node = await operator.node(name);
  expect(node).toMatchObject({ maintenance: true, fault: 'clean failure' });
  expect(node['last_error']).toContain('does not say what happened to each disk');
  expect(await flow()).toMatchObject({
    kind: 'wipe',
    state: 'failed',
    error: expect.stringContaining('count as wiped only when') as unknown,
  });

  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'manage');
  machine.faults.provesNoErase = false;
  // neither automated_clean: false nor a request without a wipe leads past it
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  expect(await flow()).toMatchObject({ kind: 'wipe', state: 'succeeded' });
});
