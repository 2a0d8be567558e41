import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { laterIds } from '#conductor/drivers/redfish/client/errors.ts';
import { silentLog } from '#shared/log.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { makeBootMediumDirectory } from '#test/support/boot-medium-directory.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Whole deploys of machines whose BMC answers "later" to all that it is asked for: power, boot device, media, settings. */

let directory: string;
let conductor: ConductorInProcess;
let operator: Operator;

beforeAll(async () => {
  directory = await makeBootMediumDirectory();
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_RAMDISK_DIR: directory },
    drivers: { redfish: { retryMs: 5 } },
  });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});

const asked = [
  { method: 'POST', path: /Reset$/ },
  { method: 'POST', path: /InsertMedia$/ },
  { method: 'POST', path: /EjectMedia$/ },
  { method: 'PATCH', path: /Systems\/1$/ },
  { method: 'PATCH', path: /Bios\/Settings$/ },
  { method: 'GET', path: /Systems\/1$/ },
  { method: 'GET', path: /VirtualMedia\/CD$/ },
] as const;
const statuses = [400, 409, 500, 503];

test.each(laterIds.map(({ id }, row) => ({ id, row })))('$id: the deploy ends active', async ({ id, row }) => {
  const name = `later-${row}`;
  const mac = `52:54:00:00:b9:${row.toString(16).padStart(2, '0')}`;
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  try {
    await enrolSimulatedNode(operator, machine, name, {
      boot_interface: 'redfish-virtual-media',
      driver_info: { ...machine.driverInfo, external_http_url: conductor.url },
    });
    const error = { code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': [{ MessageId: `Maker.1.0.${id}` }] };
    for (const [index, each] of asked.entries()) {
      const status = statuses[(row + index) % statuses.length] ?? 500;
      machine.bmc.inject({ ...each, status, body: { error }, times: 2 });
    }
    const settings = [{ name: 'NumCores', value: '4' }];
    const step = { interface: 'bios', step: 'apply_configuration', args: { settings }, priority: 150 };
    await operator.provision(name, 'active', { deploy_steps: [step] });
    await operator.waitForState(name, 'active');
    expect(machine.disk).toContain('write_image demo.raw');
    expect(machine.bmc.faultsLeft()).toBe(0);
  } finally {
    await machine.close();
  }
});
