import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Storage controllers as public reports have them, each with the report's address: volumes are made and deleted in whole flows. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_CALLBACK_TIMEOUT: '60' } });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:bc:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `reported-${count}`);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  return () => machine.close();
});

const logical_disks = [
  { size_gb: 'MAX', raid_level: '1', is_root_volume: true, volume_name: 'root', disk_type: 'ssd' },
  { size_gb: 1000, raid_level: '5', volume_name: 'data', disk_type: 'hdd' },
];

async function clean(step: string): Promise<void> {
  const clean_steps = [{ interface: 'raid', step }];
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
}

const made = async () =>
  ((await operator.node(name))['raid_config'] as { logical_disks?: readonly { volume_name: string }[] }).logical_disks
    ?.map((each) => each.volume_name)
    .sort();

const ironicNotes = 'https://github.com/openstack/ironic/blob/master/releasenotes/notes';

const sushyNotes = 'https://github.com/openstack/sushy/blob/master/releasenotes/notes';

test.each<[string, Partial<Quirks>]>([
  [
    `${ironicNotes}/fix-redfish-raid-onreset-workflow-bfa44de6b0263a1f.yaml: one change at a reset at a time`,
    { volumeApplyTimes: ['OnReset'], oneVolumeTask: true },
  ],
  [
    `${ironicNotes}/fix-redfish-raid-onreset-workflow-bfa44de6b0263a1f.yaml: which the controller does not say`,
    { volumeApplyTimes: [], oneVolumeTask: true },
  ],
  [
    'https://github.com/HewlettPackard/ilo-ansible-collection/issues/46: the last volume is deleted first',
    { deletesLastVolumeOnly: true },
  ],
  [
    `${sushyNotes}/fix-volume-delete-configuration-unsuported-operational_time_property-f53f650d8612a847.yaml: iDRAC from 6.00.02 on`,
    { rejectsDeletionTime: true },
  ],
  [
    `${ironicNotes}/skip-nonraid-controllers-f4a79e2c9e8080ce.yaml: one without RAID stands before it`,
    { plainController: true },
  ],
])('%s', async (_report, quirks) => {
  Object.assign(machine.bmc.quirks, quirks);
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks });
  await clean('create_configuration');
  expect(await made()).toEqual(['data', 'root']);
  await clean('delete_configuration');
  expect(await made()).toBeUndefined();
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});
