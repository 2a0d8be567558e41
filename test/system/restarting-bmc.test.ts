import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * BMCs that restart amid a firmware update, and their tasks, as bug reports tell of them: the update ends by its task's own
 * word or by the version, and until then nothing switches power.
 */

let conductor: ConductorInProcess;
let operator: Operator;
let hasty: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;
let letItEnd: () => void;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, drivers: { redfish: { retryMs: 2 } } });
  operator = createOperator(conductor.url, { retries: 30 });
  hasty = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:be:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `restarting-${count}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  // what is off can't be switched off
  await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
  await waitUntil(
    `${name} to be on`,
    async () => (await operator.node(name))['power_state'] === 'power on' || undefined,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  letItEnd = resolve;
  machine.bmc.quirks.flashesUntil = promise;
  return async () => {
    resolve();
    await machine.close();
  };
});

const image = (file: string): string => `http://192.0.2.7/${file}.bin`;
const bios = { component: 'bios', url: image('bios-2.1.0') };
const bmc = { component: 'bmc', url: image('bmc-3.0.0') };
const nic = { component: 'NIC.Slot.1', url: image('nic-4.0.0') };
const update = (...settings: readonly object[]) => ({ interface: 'firmware', step: 'update', args: { settings } });
const clean = (...settings: readonly object[]) =>
  operator.provision(name, 'clean', { clean_steps: [update(...settings)], disable_ramdisk: true });

const flow = async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
const says = (words: string) =>
  waitUntil(words, async () => {
    await hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
    return (await flow()).includes(words) || undefined;
  });
const rests = (state: string) =>
  waitUntil(state, async () => {
    await hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
    const { provision_state: now, reservation } = await operator.node(name);
    return (now === state && reservation === null) || undefined;
  });
const version = async (component: string): Promise<unknown> => {
  const { firmware } = (await operator.call('GET', `/v1/nodes/${name}/firmware`)) as {
    firmware: readonly { readonly component: string; readonly current_version: string }[];
  };
  return firmware.find((each) => each.component === component)?.current_version;
};
const resets = () =>
  machine.bmc.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('ComputerSystem.Reset')).length;
/** Makes the BMC have answered for minutes that the task is gone, where that was its last answer. */
const letMinutesPass = () =>
  conductor.context().db.execute(
    sql`update flow_steps set output = jsonb_set(output, '{updates}', coalesce((
          select jsonb_agg(case when each->'lostSince' = 'null' then each else each || '{"lostSince": 0}' end)
          from jsonb_array_elements(output->'updates') each), '[]'))
        where state <> 'succeeded' and jsonb_typeof(output->'updates') = 'array'`,
  );

const page = '<html><body>Please wait</body></html>';
const answers: readonly (readonly [string, Omit<Fault, 'path'>])[] = [
  ['401', { status: 401 }],
  ['404', { status: 404, body: { error: { code: 'Base.1.8.ResourceMissingAtURI' } } }],
  ['404 and a page', { status: 404, body: page }],
  ['500 and a page', { status: 500, body: page }],
  ['cut connections', { drop: true }],
];

describe.each(answers)('a BMC that answers all with %s while it starts', (_how, fault) => {
  test('has not ended the update, whose task goes on', async () => {
    await clean(bios);
    await says('the BMC to update bios');
    const before = resets();
    machine.bmc.inject({ path: /./, ...fault, times: Number.POSITIVE_INFINITY });
    await says('which does not answer now');
    machine.bmc.clearFaults();
    await says('waiting_for":"the BMC to update bios"');
    expect(resets()).toBe(before);
    letItEnd();
    await rests('manageable');
    expect(await version('bios')).toBe('2.1.0');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('and has forgotten its task and shows the version of before for a while, is asked until it shows the new one', async () => {
    await clean(bmc);
    await says('the BMC to update bmc');
    const before = resets();
    machine.bmc.restart();
    machine.bmc.inject({ path: /./, ...fault, times: Number.POSITIVE_INFINITY });
    await says('which does not answer now');
    machine.bmc.clearFaults();
    await says('has forgotten the update of bmc, to show its version"');
    letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(resets()).toBe(before);
  });
});

test('the same version once more shows nothing: it is taken for done once the BMC has answered for minutes', async () => {
  await clean({ ...bmc, url: image('bmc-1.0.0') });
  await says('the BMC to update bmc');
  const before = resets();
  machine.bmc.restart();
  letItEnd();
  await says('has forgotten the update of bmc, to show its version"');
  await letMinutesPass();
  await rests('manageable');
  expect(await version('bmc')).toBe('1.0.0');
  expect(resets()).toBe(before);
});

test('a version that is not shown for a while is not known to be another', async () => {
  const path = /FirmwareInventory\/NIC.Slot.1$/;
  const item = { '@odata.id': '/redfish/v1/UpdateService/FirmwareInventory/NIC.Slot.1', Id: 'NIC.Slot.1' };
  await clean(nic);
  await says('the BMC to update NIC.Slot.1');
  machine.bmc.restart();
  machine.bmc.inject({ path, body: { ...item, Version: null }, times: Number.POSITIVE_INFINITY });
  await says('has forgotten the update of NIC.Slot.1, to show its version"');
  const before = resets();
  const seen = () => machine.bmc.requests.filter((each) => path.test(each.path)).length;
  const looks = seen();
  await waitUntil('more looks', async () => (await says('to show its version"')) && (seen() > looks + 2 || undefined));
  expect(resets()).toBe(before);
});

test('minutes count only while the BMC answers that the task is gone', async () => {
  await clean(bmc);
  await says('the BMC to update bmc');
  const isForgotten = () => says('has forgotten the update of bmc, to show its version"');
  const times = Number.POSITIVE_INFINITY;
  machine.bmc.inject({ path: /TaskMonitors/, status: 404, times });
  await isForgotten();
  machine.bmc.clearFaults();
  await letMinutesPass();
  await says('waiting_for":"the BMC to update bmc"');
  machine.bmc.restart();
  await isForgotten();
  machine.bmc.inject({ path: /./, drop: true, times });
  await letMinutesPass();
  await says('which does not answer now');
  machine.bmc.clearFaults();
  await isForgotten();
  letItEnd();
  await rests('manageable');
  expect(await version('bmc')).toBe('3.0.0');
});

describe("a task's end is its own word", () => {
  const monitor = (body: object, times: number) => machine.bmc.inject({ path: /TaskMonitors/, body, times });

  test('completed with status Critical it has failed, in its words', async () => {
    const Messages = [{ MessageId: 'IDRAC.2.8.JCP052', Message: 'no progress' }];
    monitor({ TaskState: 'Completed', TaskStatus: 'Critical', Messages }, Number.POSITIVE_INFINITY);
    await clean(bios);
    await rests('clean failed');
    const { last_error: error } = await operator.node(name);
    expect(error).toContain("the BMC's task ended as Completed with status Critical: no progress");
    expect(await version('bios')).toBe('1.0.0');
  });

  test('cancelling, or at what nobody has defined, it is at work', async () => {
    monitor({ TaskState: 'Cancelling', PercentComplete: 30 }, 2);
    monitor({ TaskState: 'AlmostDone', PercentComplete: 60 }, 2);
    await clean(bios);
    await says('the BMC to update bios (60 %)');
    letItEnd();
    await rests('manageable');
    expect(await version('bios')).toBe('2.1.0');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('named by a Location that is a task, which is always 200', async () => {
    const headers = { Location: '/redfish/v1/TaskService/Tasks/7?of=update' };
    machine.bmc.inject({ method: 'POST', path: /SimpleUpdate$/, actsAs: 202, headers });
    machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Running', PercentComplete: 10 }, times: 2 });
    machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Running', PercentComplete: 20 }, times: 2 });
    machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Completed' }, times: 9 });
    await clean(bios);
    await says('the BMC to update bios (20 %)');
    letItEnd();
    await rests('manageable');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(machine.bmc.requests.filter(({ query }) => query === '?of=update').length).toBeGreaterThan(3);
  });
});

describe('new firmware that the machine writes as it starts, without a ramdisk', () => {
  const starts = 'waiting_for":"the machine to start with the new bios"';

  test('keeps its power until the BMC shows the new version', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    machine.bmc.quirks.firmwareWrittenAfter = promise;
    letItEnd();
    await clean(bios);
    await says(starts);
    const before = resets();
    await operator.provision(name, 'abort');
    const off = hasty.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power off' });
    await expect(off).rejects.toThrow('firmware.update may be under way');
    await says(starts);
    expect(resets()).toBe(before);
    resolve();
    await rests('clean failed');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('and that is of the same version is given minutes, all of it side by side', async () => {
    letItEnd();
    await clean({ ...bios, url: image('bios-1.0.0') }, { ...nic, url: image('nic-1.0.0') });
    await says('waiting_for":"the machine to start with the new bios, NIC.Slot.1"');
    await letMinutesPass();
    await rests('manageable');
    expect([await version('bios'), await version('NIC.Slot.1')]).toEqual(['1.0.0', '1.0.0']);
  });
});

test('a service that is aborted amid the update keeps the machine on until it has ended', async () => {
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  await operator.provision(name, 'service', { service_steps: [update(bios)], disable_ramdisk: true });
  await says('the BMC to update bios');
  const before = resets();
  await operator.provision(name, 'abort');
  const off = hasty.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power off' });
  await expect(off).rejects.toThrow('firmware.update may be under way');
  await says('the BMC to update bios');
  expect(resets()).toBe(before);
  letItEnd();
  await rests('service failed');
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});
