import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { eq, isNull } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeFirmware } from '#conductor/kernel/db/schema/node-parts.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';

/** Firmware updates through the BMC, in whole flows: a conductor, a Redfish BMC and a real agent over HTTP. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  conductor.atCheckpoints(() => 'go on');
  count += 1;
  const mac = `52:54:00:00:b4:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `firmware-${count}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  return () => machine.close();
});

const image = (file: string): string => `http://192.0.2.7/${file}.bin`;
const bios = { component: 'bios', url: image('bios-2.1.0') };
const bmc = { component: 'bmc', url: image('bmc-3.0.0') };
const nic = { component: 'NIC.Slot.1', url: image('nic-4.0.0') };
const update = (...settings: readonly object[]) => ({ interface: 'firmware', step: 'update', args: { settings } });

async function clean(...settings: readonly object[]): Promise<void> {
  await operator.provision(name, 'clean', { clean_steps: [update(...settings)], disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
}

async function allFirmware(): Promise<readonly { readonly component: string }[]> {
  return (await operator.call('GET', `/v1/nodes/${name}/firmware`))['firmware'] as { component: string }[];
}

/** Network cards aside, which are in the inventory, too. */
async function firmware(): Promise<unknown> {
  return (await allFirmware()).filter(({ component }) => !component.startsWith('nic:'));
}

const requests = (path: RegExp) =>
  machine.bmc.requests.filter(({ method, path: at }) => method === 'POST' && path.test(at));
const updates = () => requests(/SimpleUpdate$/).map(({ body }) => JSON.parse(body) as unknown);
const resets = () => requests(/ComputerSystem\.Reset$/).filter(({ body }) => /"(On|ForceOn)"/.test(body)).length;

test('versions are known once the node is managed', async () => {
  expect(await firmware()).toMatchObject([
    { component: 'bios', initial_version: '1.0.0', current_version: '1.0.0', last_version_flashed: null },
    { component: 'bmc', current_version: '1.0.0' },
    { component: 'NIC.Slot.1', current_version: '1.0.0' },
  ]);
  const shown = await run(batonProgram, ['firmware', name], { env: { BATON_URL: conductor.url }, timeoutMs: 300_000 });
  expect(shown.stdout).toMatch(/^bios +1\.0\.0 +1\.0\.0 +- +- +- +-$/m);
});

test.each([
  ['at once', { taskPolls: 0 }],
  ['that take their time', { taskPolls: 1 }],
  ['with its protocol named', { taskPolls: 0, simpleUpdate: 'with its protocol' }],
])('several, one after the other, with one reset (%s)', async (_how, quirks) => {
  Object.assign(machine.bmc.quirks, quirks);
  const before = resets();
  await clean(bios, bmc, nic);
  expect(resets()).toBe(before + 1);
  expect(await firmware()).toMatchObject([
    { component: 'bios', initial_version: '1.0.0', current_version: '2.1.0', last_version_flashed: '2.1.0' },
    { component: 'bmc', current_version: '3.0.0', last_version_flashed: '3.0.0' },
    { component: 'NIC.Slot.1', current_version: '4.0.0', last_version_flashed: '4.0.0' },
  ]);
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: unknown };
  const note = 'bios 1.0.0 → 2.1.0, bmc 1.0.0 → 3.0.0, NIC.Slot.1 1.0.0 → 4.0.0';
  expect(steps).toContainEqual(expect.objectContaining({ step: 'update', note }));
  expect(updates().at(-1)).toMatchObject({
    ImageURI: nic.url,
    Targets: ['/redfish/v1/UpdateService/FirmwareInventory/NIC.Slot.1'],
  });
});

test('updates that begin at a reset, which the BMC does not say, are given one', async () => {
  Object.assign(machine.bmc.quirks, { updatesAtReset: true });
  const before = resets();
  await clean(bmc, bios);
  expect(resets()).toBe(before + 1);
  expect(await firmware()).toMatchObject([{ current_version: '2.1.0' }, { current_version: '3.0.0' }, {}]);
});

test('the BMC itself, which forgets its task: its version shows what came of it, and nothing is reset', async () => {
  Object.assign(machine.bmc.quirks, { forgetsTasks: true });
  const before = resets();
  await clean(bmc);
  expect(resets()).toBe(before);
  expect(await firmware()).toMatchObject([{}, { component: 'bmc', current_version: '3.0.0' }, {}]);
});

test('amid a deploy the ramdisk comes back after the reset', async () => {
  machine.bmc.quirks.taskPolls = 0;
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await operator.provision(name, 'active', { deploy_steps: [{ ...update(bios), priority: 90 }] });
  await operator.waitForState(name, 'active');
  expect(await firmware()).toMatchObject([{ component: 'bios', current_version: '2.1.0' }, {}, {}]);
});

test.each([
  ['a task that failed', { failTasks: true }, bios, 'The task failed on purpose.'],
  ['an image that it refuses', {}, { ...bios, url: image('nothing') }, 'The image could not be read.'],
])("%s is in the BMC's words", async (_what, quirks, setting, text) => {
  Object.assign(machine.bmc.quirks, quirks);
  await operator.provision(name, 'clean', { clean_steps: [update(setting)], disable_ramdisk: true });
  await operator.waitForState(name, 'clean failed');
  expect(await operator.node(name)).toMatchObject({ last_error: expect.stringContaining(text) as string });
});

test.each([
  ['before anything was written leaves its instance on', [{ ...bios, component: 'bmcc' }], 'power on', false],
  ['after another component was written switches it off', [bios, { ...bmc, component: 'bmcc' }], 'power off', true],
] as const)('a service that meets a wrong component %s', async (_when, settings, power, cleansUp) => {
  machine.bmc.quirks.taskPolls = 0;
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  // or it would be refused at the request
  machine.bmc.inject({ method: 'GET', path: /UpdateService\/FirmwareInventory$/, status: 400 });
  await operator.provision(name, 'service', { service_steps: [update(...settings)], disable_ramdisk: true });
  await operator.waitForState(name, 'service failed');
  expect(await operator.node(name)).toMatchObject({
    last_error: expect.stringContaining('it has bios, bmc, NIC.Slot.1') as string,
    power_state: power,
  });
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: { phase: string }[] };
  expect(steps.some(({ phase }) => phase === 'cleanup')).toBe(cleansUp);
});

test('a conductor that dies at any checkpoint of the step ends with the versions in place', async () => {
  machine.bmc.quirks.taskPolls = 0;
  const version = (checkpoint: number): string => `2.${checkpoint}.0`;
  const deaths = await conductor.dieAtEach({
    act: (checkpoint) =>
      clean(
        { ...bios, url: image(`bios-${version(checkpoint)}`) },
        { ...nic, url: image(`nic-${version(checkpoint)}`) },
      ),
    check: async (checkpoint) => {
      const found = [checkpoint, await firmware()];
      const current_version = version(checkpoint);
      expect(found).toMatchObject([checkpoint, [{ current_version }, {}, { current_version }]]);
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(3);
});

test.each([
  ['answers 500', { status: 500, times: 6 }],
  ['answers 401', { status: 401, times: 2 }],
  ['answers with a page', { body: '<html>starting</html>', times: 1 }],
  ['cuts connections', { drop: true, times: 2 }],
])('a BMC that restarts amid the update %s: that is no end', async (_how, fault) => {
  Object.assign(machine.bmc.quirks, { taskPolls: 2 });
  machine.bmc.inject({ path: /TaskMonitors/, ...fault });
  await clean(bios);
  expect(await firmware()).toContainEqual(expect.objectContaining({ component: 'bios', current_version: '2.1.0' }));
  expect(machine.bmc.requests.filter(({ path }) => /TaskMonitors/.test(path)).length).toBeGreaterThan(2);
});

test('a BMC that has forgotten its task may show the version of before for a while', async () => {
  Object.assign(machine.bmc.quirks, { forgetsTasks: true });
  const requestsBefore = machine.bmc.requests.length;
  machine.bmc.inject({
    method: 'GET',
    path: /UpdateService\/FirmwareInventory$/,
    status: 503,
    times: 5,
  });
  await clean(bmc);
  expect(await firmware()).toContainEqual(expect.objectContaining({ component: 'bmc', current_version: '3.0.0' }));
  expect(machine.bmc.requests.slice(requestsBefore).some(({ path }) => path.endsWith('Reset'))).toBe(false);
});

describe('nothing switches power while an update may be under way', () => {
  const power = async (target: string): Promise<string> =>
    operator.call('PUT', `/v1/nodes/${name}/states/power`, { target }).then(
      () => 'accepted',
      (error: unknown) => String(error),
    );
  const all = () => requests(/ComputerSystem\.Reset$/).length;
  const held = async () => (await operator.node(name))['driver_internal_info'] as Record<string, unknown>;
  const expire = async (): Promise<void> => {
    const { db } = conductor.context();
    const [node] = await db.select().from(nodes).where(eq(nodes.name, name));
    const powerHold = node?.powerHold && { ...node.powerHold, until: new Date(0).toISOString() };
    await db.update(nodes).set({ powerHold }).where(eq(nodes.name, name));
    await db
      .update(flows)
      .set({ nextCheckAt: new Date(0) })
      .where(isNull(flows.endedAt));
  };

  test('an undeploy waits, a power verb is refused, until its time is over', async () => {
    machine.bmc.quirks.taskPolls = 0;
    await operator.provision(name, 'provide');
    await operator.waitForState(name, 'available');
    machine.bmc.quirks.taskPolls = Number.POSITIVE_INFINITY;
    await operator.provision(name, 'active', { deploy_steps: [{ ...update(bios), priority: 90 }] });
    await expect.poll(() => updates().length).toBe(1);
    await expect.poll(async () => (await operator.node(name))['provision_state']).toBe('wait call-back');
    const before = all();

    await operator.provision(name, 'deleted');
    const why = 'firmware.update may be under way';
    await expect.poll(async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`))).toContain(why);
    expect(await held()).toMatchObject({ baton_power_hold: { reason: why } });
    expect(await power('power off')).toContain(why);
    expect(all()).toBe(before);

    await expire();
    await operator.waitForState(name, 'available');
    expect(all()).toBeGreaterThan(before);
  });

  test('a step that has failed by a fault of the program keeps the machine on', async () => {
    machine.bmc.quirks.taskPolls = Number.POSITIVE_INFINITY;
    await operator.provision(name, 'clean', { clean_steps: [update(bios)], disable_ramdisk: true });
    await expect.poll(() => updates().length).toBe(1);
    const before = all();
    conductor.atCheckpoints((point) => (point === 'acted' ? new Error('struck by the test') : 'go on'));
    await expect
      .poll(async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`)))
      .toContain('not before');
    expect(all()).toBe(before);
  });
});

test('a component that the BMC does not have is refused at the request; one that it has got since is not', async () => {
  const ask = (setting: object) =>
    operator.provision(name, 'clean', { clean_steps: [update(setting)], disable_ramdisk: true });
  await expect(ask({ ...bmc, component: 'bmcc' })).rejects.toThrow(
    /400.*firmware\.update: settings: update bmcc at .*it has bios, bmc, NIC\.Slot\.1/,
  );
  expect((await operator.node(name))['provision_state']).toBe('manageable');
  await conductor.context().db.delete(nodeFirmware);
  await ask(nic);
  await operator.waitForState(name, 'manageable');
  expect(await firmware()).toContainEqual(
    expect.objectContaining({ component: 'NIC.Slot.1', current_version: '4.0.0' }),
  );
});

test('one that a deploy template names is refused at the request, too', async () => {
  const steps = [{ ...update({ ...bmc, component: 'bmcc' }), priority: 90 }];
  await operator.call('POST', '/v1/deploy_templates', { name: 'CUSTOM_FIRMWARE', steps });
  await operator.call('PUT', `/v1/nodes/${name}/traits/CUSTOM_FIRMWARE`);
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'add', path: '/instance_info/traits', value: ['CUSTOM_FIRMWARE'] },
  ]);
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await expect(operator.provision(name, 'active')).rejects.toThrow(/400.*firmware\.update: settings: update bmcc/);
});

test('a component that may be what the BMC can not show now is left to the step', async () => {
  machine.bmc.inject({ method: 'GET', path: /FirmwareInventory\/NIC/, status: 400 });
  await operator.provision(name, 'clean', {
    clean_steps: [update({ ...bmc, component: 'bmcc' })],
    disable_ramdisk: true,
  });
  const failed = await operator.waitForState(name, 'clean failed');
  expect(failed['last_error']).toContain('the BMC has no such component; it has bios, bmc, NIC.Slot.1');
});

test('bad arguments are refused before anything is begun', async () => {
  const refused = async (step: object): Promise<string> => {
    const answer = await operator
      .provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true })
      .catch((error: unknown) => String(error));
    return String(answer);
  };
  expect(await refused(update())).toContain('settings');
  expect(await refused(update({ ...bios, url: 'ftp://192.0.2.7/bios.bin' }))).toContain('url');
  expect(await refused(update(bios, bios))).toContain('each component once');
  expect(updates()).toEqual([]);
});

describe('with a checksum', () => {
  const content = 'firmware of a machine';
  const sha256 = createHash('sha256').update(content).digest('hex');
  let server: Server;
  let base: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url?.includes('gone') ? 404 : 200;
      response.end(content);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test('the conductor fetches the image, compares it, and sends it to the BMC', async () => {
    const url = `${base}/nic-4.0.0.bin`;
    await clean({ component: 'nic:NIC.Slot.1', url, checksum: sha256 });
    expect(updates()).toEqual([]);
    expect(await allFirmware()).toContainEqual(
      expect.objectContaining({ component: 'nic:NIC.Slot.1', current_version: '4.0.0', last_version_flashed: '4.0.0' }),
    );
    expect((await readdir(tmpdir())).filter((file) => file.startsWith('baton-firmware-'))).toEqual([]);
  });

  test('an image that is another, or is not there, goes nowhere', async () => {
    const failed = async (setting: object): Promise<unknown> => {
      await operator.provision(name, 'clean', { clean_steps: [update(setting)], disable_ramdisk: true });
      const { last_error: error } = await operator.waitForState(name, 'clean failed');
      await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
      await operator.provision(name, 'manage');
      await operator.waitForState(name, 'manageable');
      return error;
    };
    const wrong = {
      component: 'bios',
      url: `${base}/bios-2.1.0.bin`,
      checksum: sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')),
    };
    expect(await failed(wrong)).toContain(`has the sha256 ${sha256}, not `);
    expect(await failed({ ...wrong, url: `${base}/gone.bin` })).toContain('it was answered with 404');
    machine.bmc.quirks.multipartPush = false;
    expect(await failed({ ...wrong, checksum: sha256 })).toContain('leave the checksum out');
    expect(requests(/UpdateService/)).toEqual([]);
  });

  test('what is not a checksum is refused before', async () => {
    const steps = { clean_steps: [update({ ...bios, checksum: 'abc' })], disable_ramdisk: true };
    await expect(operator.provision(name, 'clean', steps)).rejects.toThrow(
      /checksum.*SHA-256, SHA-512 or SHA-1.*3 digits/,
    );
  });
});

test('a BMC without SimpleUpdate is sent the image, checksum or not', async () => {
  machine.bmc.quirks.simpleUpdate = 'none';
  const server = createServer((_request, response) => void response.end('firmware of a machine'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bios-2.1.0.bin`;
  await clean({ component: 'bios', url });
  server.close();
  expect(await firmware()).toContainEqual(expect.objectContaining({ component: 'bios', current_version: '2.1.0' }));
});
