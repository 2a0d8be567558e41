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

test('of settings that were taken in part, the error names those that are not shown', async () => {
  const name = await enrolSimulatedNode(operator, machine, 'bios-shown');
  machine.bmc.quirks.biosKeeps = ['NumCores'];
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const settings = [
    { name: 'SysProfile', value: 'Performance' },
    { name: 'NumCores', value: 4 },
  ];
  const clean_steps = [{ interface: 'bios', step: 'apply_configuration', args: { settings } }];
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
  const { last_error } = await operator.waitForState(name, 'clean failed');
  expect(last_error).toMatch(/the firmware to take the BIOS settings NumCores = 4 \(now 8\)/);
  expect(last_error).not.toContain('SysProfile');
});
