import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** BIOS settings that a firmware leaves as they are: a conductor that waits for a short time, and a Redfish BMC. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_CALLBACK_TIMEOUT: '2' } });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:ba:01' });
});
afterAll(async () => {
  await conductor.close();
  await machine.close();
});

const clean = (name: string, settings: readonly object[]) => {
  const clean_steps = [{ interface: 'bios', step: 'apply_configuration', args: { settings } }];
  return operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
};

test('what a BMC takes and drops ends the step before the machine is reset', async () => {
  const name = await enrolSimulatedNode(operator, machine, 'bios-dropped');
  machine.bmc.quirks.biosDrops = ['NumCores'];
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const before = machine.bmc.requests.length;
  await clean(name, [{ name: 'NumCores', value: 4 }]);
  const { last_error } = await operator.waitForState(name, 'clean failed');
  expect(last_error).toMatch(/the BMC has taken it, and does not show it: NumCores: asked for 4, to come is 8/);
  const resets = machine.bmc.requests.slice(before).filter(({ body }) => body.includes('"On"'));
  expect(resets).toEqual([]);
  machine.bmc.quirks.biosDrops = [];
  await operator.call('DELETE', `/v1/nodes/${name}`);
});

test('of settings that were taken in part, the error names those that are not shown', async () => {
  const name = await enrolSimulatedNode(operator, machine, 'bios-shown');
  machine.bmc.quirks.biosKeeps = ['NumCores'];
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const settings = [
    { name: 'SysProfile', value: 'Performance' },
    { name: 'NumCores', value: 4 },
  ];
  await clean(name, settings);
  const { last_error } = await operator.waitForState(name, 'clean failed');
  expect(last_error).toMatch(/the firmware to take the BIOS settings NumCores = 4 \(now 8\)/);
  expect(last_error).not.toContain('SysProfile');
});
