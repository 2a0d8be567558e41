import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance } from '#test/support/enrol.ts';

/** Debian's real openstacksdk (python3-openstacksdk), which other projects reach Ironic by, on a conductor. */

let conductor: ConductorInProcess;
let machine: SimulatedNode;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:07:01',
    inspects: true,
  });
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

const containing = (text: string) => expect.stringContaining(text) as unknown;

test('a machine from nothing to an instance and away again, and all that stands beside it', async () => {
  const given = {
    endpoint: conductor.url,
    auth: { auth_type: 'none' },
    driver_info: machine.driverInfo,
    mac: machine.mac,
    instance_info: demoInstance,
  };
  const program = new URL('openstacksdk.py', import.meta.url).pathname;
  const seen: unknown[] = [];
  await run('/usr/bin/python3', [program, JSON.stringify(given)], {
    timeoutMs: 300_000,
    onStdoutLine: (line) => seen.push(JSON.parse(line)),
  });
  expect(seen).toEqual([
    ['created', ['sdk', 'redfish', 'enroll']],
    ['ports', [[machine.mac, true]]],
    ['port', { rack: 7 }],
    ['managed', 'manageable'],
    ['inspected', ['manageable', ['inventory', 'plugin_data'], 'x86_64']],
    ['changed', [['CUSTOM_FAST'], { rack: 7 }, 'team-a']],
    ['maintenance', [true, 'new fan']],
    ['power', 'power off'],
    ['valid', [true, true]],
    ['invalid', containing('Validation failed for required interfaces')],
    ['allocated', ['active', [true, true, true]]],
    ['allocations', [['sdk-web', { app: 'web' }]]],
    ['no second', containing('no available nodes match the resource class sdk-gold')],
    ['deployed', ['active', 'power on']],
    ['in use', containing('409')],
    ['undeployed', ['available', null, null]],
    ['released', []],
    ['chassis', [true, containing('contains nodes')]],
    ['volumes', ['iqn.2026-11.example:sdk', ['v1']]],
    ['templates', [['CUSTOM_SDK', [expect.objectContaining({ priority: 150 })]]]],
    ['drivers', ['fake-hardware', 'ipmi', 'redfish']],
    ['conductors', [true]],
    ['paged', Array.from({ length: 7 }, (_, index) => `page-${index}`)],
    ['detailed', 7],
    ['gone', containing('Node sdk could not be found')],
  ]);
});
