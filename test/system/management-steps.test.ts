import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Steps on the BMC itself, in manual cleaning without the ramdisk. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
const name = 'managed';

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:b5:01' });
  await enrolSimulatedNode(operator, machine, name, { properties: {} });
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

async function clean(step: string, args: object = {}, kind = 'management'): Promise<void> {
  const clean_steps = [{ interface: kind, step, args }];
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
}

async function cleanAll(...step: Parameters<typeof clean>): Promise<void> {
  await clean(...step);
  await operator.waitForState(name, 'manageable');
}

const sent = (path: RegExp) =>
  machine.bmc.requests.filter(({ method, path: at }) => method !== 'GET' && path.test(at)).map(({ body }) => body);

test('the BMC is restarted, and waited for while it does not answer', async () => {
  // as often as one question is asked, and once more
  machine.bmc.inject({ method: 'GET', path: /Systems/, drop: true, times: 6 });
  await cleanAll('reset_bmc');
  expect(sent(/Manager\.Reset$/).map((body) => JSON.parse(body) as unknown)).toEqual([
    { ResetType: 'GracefulRestart' },
    { ResetType: 'ForceRestart' },
  ]);
  expect(machine.bmc.counters.bmcResets).toBe(1);
});

test('the BMC is not restarted while another machine behind it takes firmware', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  machine.bmc.quirks.flashesUntil = promise;
  const flashed = 'beside-it';
  // another name of the same host
  const driverInfo = { ...machine.driverInfo, redfish_address: `${String(machine.driverInfo['redfish_address'])}/` };
  const beside = { ...machine, mac: '52:54:00:00:b5:02', driverInfo };
  await enrolSimulatedNode(operator, beside, flashed, { properties: {} });
  await operator.provision(flashed, 'manage');
  await operator.waitForState(flashed, 'manageable');
  const settings = [{ component: 'bmc', url: 'http://192.0.2.7/bmc-2.0.0.bin' }];
  const update = { interface: 'firmware', step: 'update', args: { settings } };
  await operator.provision(flashed, 'clean', { clean_steps: [update], disable_ramdisk: true });
  await expect.poll(() => sent(/SimpleUpdate$/).length).toBe(1);
  const before = machine.bmc.counters.bmcResets;
  await clean('reset_bmc');
  const flow = async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
  const why = 'which the machine of node beside-it shares: firmware.update may be under way';
  await expect.poll(flow).toContain(why);
  expect(machine.bmc.counters.bmcResets).toBe(before);
  resolve();
  machine.bmc.quirks.flashesUntil = undefined;
  await operator.waitForState(flashed, 'manageable');
  await operator.call('POST', `/v1/nodes/${name}/flow/retry`);
  await operator.waitForState(name, 'manageable');
  expect(machine.bmc.counters.bmcResets).toBe(before + 1);
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});

test('its clock is set, to the time given or to that of the conductor', async () => {
  await cleanAll('set_bmc_clock', { target_datetime: '2031-02-03T04:05:06+02:00' });
  await cleanAll('set_bmc_clock');
  const [given, now] = sent(/Managers\/1$/).map((body) => (JSON.parse(body) as { DateTime: string }).DateTime);
  expect(given).toBe('2031-02-03T02:05:06+00:00');
  expect(Math.abs(Date.parse(now ?? '') - Date.now())).toBeLessThan(3_600_000);
});

test('sensors are read, and a machine that is not well fails where that is asked for', async () => {
  await cleanAll('get_sensors', { fail_at: 'critical' });
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: unknown };
  const note = '4 sensors: CPU 1 Temp is warning (92.5 Cel)';
  expect(steps).toContainEqual(expect.objectContaining({ step: 'get_sensors', note }));
  await clean('get_sensors', { fail_at: 'warning' });
  const { last_error } = await operator.waitForState(name, 'clean failed');
  expect(last_error).toContain('the BMC says that CPU 1 Temp is warning (92.5 Cel)');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await expect(clean('get_sensors', { fail_at: 'always' })).rejects.toThrow('must be warning or critical');
});

test('secure boot keys are deleted, and put back', async () => {
  await cleanAll('clear_secure_boot_keys');
  await cleanAll('reset_secure_boot_keys_to_default');
  expect(sent(/ResetKeys$/).map((body) => JSON.parse(body) as unknown)).toEqual([
    { ResetKeysType: 'DeleteAllKeys' },
    { ResetKeysType: 'ResetAllKeysToDefault' },
  ]);
});

test('boot mode and Secure Boot are set, and known', async () => {
  await cleanAll('secure_boot', { secure_boot: true });
  expect(await operator.node(name)).toMatchObject({ boot_mode: 'uefi', secure_boot: true });
  await cleanAll('boot_mode', { boot_mode: 'bios' });
  expect(await operator.node(name)).toMatchObject({ boot_mode: 'bios', secure_boot: true });
  await expect(clean('boot_mode', { boot_mode: 'legacy' })).rejects.toThrow('uefi or bios');
});

test.each(['step', 'verb'])('a boot mode that is set, by %s, outlasts the boots that follow', async (by) => {
  const set = async (mode: 'uefi' | 'bios'): Promise<void> => {
    if (by === 'step') return cleanAll('boot_mode', { boot_mode: mode });
    await operator.call('PUT', `/v1/nodes/${name}/states/boot_mode`, { target: mode });
    await expect.poll(() => operator.node(name)).toMatchObject({ boot_mode: mode });
    await operator.waitForState(name, 'manageable');
  };
  await set('uefi');
  await set('bios');
  await operator.provision(name, 'clean', { clean_steps: [{ interface: 'power', step: 'reboot' }] });
  await operator.waitForState(name, 'manageable');
  expect(machine.boots()).toBeGreaterThan(0);
  expect(await operator.node(name)).toMatchObject({ boot_mode: 'bios' });
});

test("Dell's job queue is cleared, under the names of Ironic's idrac; others have no such step", async () => {
  await expect(clean('clear_job_queue')).rejects.toThrow('clear_job_queue');
  const kinds = ['bios', 'management', 'power', 'raid', 'vendor'];
  await operator.call('PATCH', `/v1/nodes/${name}?reset_interfaces=true`, [
    { op: 'replace', path: '/driver', value: 'idrac' },
    ...kinds.map((kind) => ({ op: 'add', path: `/${kind}_interface`, value: 'idrac-redfish' })),
    { op: 'add', path: '/boot_interface', value: 'idrac-redfish-virtual-media' },
  ]);
  await clean('clear_job_queue');
  await operator.waitForState(name, 'clean failed');
  expect(await operator.node(name)).toMatchObject({
    last_error: expect.stringContaining('clear the job queue') as string,
  });
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  machine.bmc.quirks.manufacturer = 'Dell Inc.';
  await cleanAll('clear_job_queue');
  expect(sent(/DeleteJobQueue$/).map((body) => JSON.parse(body) as unknown)).toEqual([
    { JobID: 'JID_CLEARALL' },
    { JobID: 'JID_CLEARALL' },
  ]);
  // what Redfish offers is offered by its other name, too
  await cleanAll('delete_configuration', {}, 'raid');
});

test('what the BMC refuses is in its words, and bad arguments are refused at once', async () => {
  const body = { error: { code: 'x', message: 'Keys are locked.' } };
  machine.bmc.inject({ method: 'POST', path: /ResetKeys$/, status: 400, body });
  await clean('clear_secure_boot_keys');
  await operator.waitForState(name, 'clean failed');
  expect(await operator.node(name)).toMatchObject({
    last_error: expect.stringContaining('Keys are locked.') as string,
  });
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await expect(clean('set_bmc_clock', { target_datetime: 'noon' })).rejects.toThrow('target_datetime');
});
