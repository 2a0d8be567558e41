import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Volumes of a storage controller by the BMC, in whole flows: a conductor, a Redfish BMC and a real agent over HTTP. */

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
  const mac = `52:54:00:00:b3:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `raid-${count}`);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  return () => machine.close();
});

const root = { size_gb: 'MAX', raid_level: '1', is_root_volume: true, volume_name: 'root', disk_type: 'ssd' };
const data = {
  size_gb: 1000,
  raid_level: '5',
  controller: 'RAID.Integrated.1-1',
  physical_disks: [{ serial: 'SN-3' }, { serial: 'SN-4' }, { size: '>= 1000' }],
};
const ssds = ['Disk.Bay.0', 'Disk.Bay.1'];
const create = { interface: 'raid', step: 'create_configuration' };
const remove = { interface: 'raid', step: 'delete_configuration' };

async function clean(steps: readonly object[]): Promise<void> {
  await operator.provision(name, 'clean', { clean_steps: steps, disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
}

async function wantRaid(...logical_disks: readonly object[]): Promise<void> {
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks });
}

async function raidConfig(): Promise<unknown> {
  return ((await operator.node(name))['raid_config'] as Record<string, unknown>)['logical_disks'];
}

const posts = () => machine.bmc.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/Volumes'));
const powerOns = () =>
  machine.bmc.requests.filter(({ method, body }) => method === 'POST' && body.includes('"On"')).length;

test('made at once, by hints and by kind; remembered with the root device, and found again', async () => {
  await wantRaid(root, data);
  await clean([create]);
  expect(await raidConfig()).toMatchObject([
    { raid_level: '1', size_gb: 480, physical_disks: ssds, controller: 'RAID.Integrated.1-1', volume_name: 'root' },
    { raid_level: '5', size_gb: 1000, physical_disks: ['Disk.Bay.2', 'Disk.Bay.3', 'Disk.Bay.4'] },
  ]);
  expect((await operator.node(name))['properties']).toMatchObject({
    root_device: { wwn: '0x64cd98f0a1b2c3d40000000000000000' },
    local_gb: 480,
  });
  expect(powerOns()).toBe(0);
  const made = posts().length;
  await clean([create]);
  expect(posts()).toHaveLength(made);
  await clean([remove]);
  expect(await raidConfig()).toBeUndefined();
});

test('a BMC that deletes its task as it ends is judged by the volume', async () => {
  machine.bmc.quirks.tasks = true;
  machine.bmc.quirks.taskPolls = 3;
  machine.bmc.inject({ method: 'GET', path: /TaskMonitors/, status: 404 });
  await wantRaid(root);
  await clean([create]);
  expect(await raidConfig()).toMatchObject([{ raid_level: '1', volume_name: 'root' }]);
  expect(powerOns()).toBe(0);
});

test('a task that completes with status Critical has made nothing', async () => {
  machine.bmc.quirks.tasks = true;
  machine.bmc.quirks.taskPolls = 3;
  const body = { TaskState: 'Completed', TaskStatus: 'Critical', Messages: [{ Message: 'No such drive.' }] };
  machine.bmc.inject({ method: 'GET', path: /TaskMonitors/, body });
  await wantRaid(root);
  await operator.provision(name, 'clean', { clean_steps: [create], disable_ramdisk: true });
  const { last_error: error } = await operator.waitForState(name, 'clean failed');
  expect(error).toContain("the BMC's task ended as Completed with status Critical: No such drive.");
  expect(powerOns()).toBe(0);
});

test.each([
  ['as it says', ['OnReset'], false],
  ['without a word, drives outside of Links', [], true],
])('made at a reset, one for all (%s)', async (_how, volumeApplyTimes, volumeDrivesAtTop) => {
  Object.assign(machine.bmc.quirks, { volumeApplyTimes, volumeDrivesAtTop });
  await wantRaid(root, data);
  await clean([create]);
  expect(powerOns()).toBe(1);
  expect(await raidConfig()).toHaveLength(2);
  await clean([remove]);
  expect(powerOns()).toBe(2);
});

test('amid a deploy, in place of other volumes, by a controller that takes tasks', async () => {
  await wantRaid({ ...root, raid_level: '0' });
  await clean([create]);
  machine.bmc.quirks.tasks = true;
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  const args = { raid_config: { logical_disks: [root] } };
  const step = { interface: 'raid', step: 'apply_configuration', priority: 90, args };
  await operator.provision(name, 'active', { deploy_steps: [step] });
  await operator.waitForState(name, 'active');
  expect(await raidConfig()).toMatchObject([{ raid_level: '1', physical_disks: ssds }]);
});

test.each([
  ['at once', ['Immediate']],
  ['at a reset', ['OnReset']],
])(
  'a conductor that dies at any checkpoint ends with the volumes asked for (made %s)',
  async (_how, volumeApplyTimes) => {
    Object.assign(machine.bmc.quirks, { volumeApplyTimes });
    await wantRaid(root, data);
    const volumes = async (): Promise<unknown> => raidConfig();
    const made = [{ raid_level: '1' }, { raid_level: '5' }];
    const creations = await conductor.dieAtEach({
      act: () => clean([create]),
      check: async (checkpoint) => {
        expect([checkpoint, await volumes()]).toMatchObject([checkpoint, made]);
        await clean([remove]);
      },
    });
    const removals = await conductor.dieAtEach({
      prepare: () => clean([create]),
      act: () => clean([remove]),
      check: async (checkpoint) => expect([checkpoint, await volumes()]).toEqual([checkpoint, undefined]),
    });
    expect(Math.min(creations, removals)).toBeGreaterThanOrEqual(3);
  },
);

describe('a controller that is at it for long', () => {
  let letItEnd: () => void;
  beforeEach(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    letItEnd = resolve;
    machine.bmc.quirks.volumesMadeAfter = promise;
    return letItEnd;
  });
  const waitsFor = (text: string) =>
    expect.poll(async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`))).toContain(text);
  const begin = async (volumeApplyTimes: readonly string[]): Promise<void> => {
    Object.assign(machine.bmc.quirks, { volumeApplyTimes });
    await wantRaid(root);
    await operator.provision(name, 'clean', { clean_steps: [create], disable_ramdisk: true });
  };
  const end = async (): Promise<void> => {
    letItEnd();
    await operator.waitForState(name, 'manageable');
    expect(await raidConfig()).toMatchObject([{ raid_level: '1', physical_disks: ssds }]);
  };

  test.each([
    ['no right', { status: 401, times: 2 }],
    ['a refusal', { status: 400, times: 1 }],
    ['that it has forgotten its task', { status: 404, times: 1 }],
    ['a failure', { status: 500, times: 6 }],
    ['that its task is another method', { status: 405, times: 1 }],
  ])('whose BMC answers with %s is not switched off, and its volume is waited for', async (_what, fault) => {
    machine.bmc.inject({ path: /TaskMonitors/, ...fault });
    await begin(['Immediate']);
    await expect.poll(() => machine.bmc.faultsLeft()).toBe(0);
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test.each([
    ['is cut off', { dropAnswer: true }],
    ['is a failure', { actsAs: 500 }],
    ['is one of a proxy', { actsAs: 504 }],
  ])('whose answer to the creation %s is asked what came of it', async (_how, fault) => {
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, ...fault });
    await begin(['Immediate']);
    await waitsFor('is in use');
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(powerOns()).toBe(0);
  });

  test.each([
    ['no right', { path: /Storage/, status: 401, times: 6 }],
    ['that there is no storage', { path: /Storage$/, status: 404 }],
    ['a bad request', { path: /Storage/, status: 400 }],
    ['no drives', { path: /Drives/, status: 404, times: 6 }],
    ['a page', { path: /Storage$/, body: '<html>starting</html>', times: 6 }],
  ])('whose BMC answers %s when what was lost is asked for again has not ended', async (_what, fault) => {
    await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
    await expect.poll(async () => (await operator.node(name))['power_state']).toBe('power on');
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, dropAnswer: true });
    await begin(['Immediate']);
    await waitsFor('is in use');
    machine.bmc.inject({ method: 'GET', ...fault });
    await expect.poll(() => machine.bmc.faultsLeft()).toBe(0);
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(powerOns()).toBe(1);
  });

  test('whose next volume is refused, and whose task is forgotten, may be at the first still: both are made', async () => {
    machine.bmc.quirks.volumeApplyTimes = ['Immediate'];
    await wantRaid(root, data);
    const headers = { Location: '/redfish/v1/TaskService/Tasks/7' };
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, actsAs: 202, headers });
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, status: 400, times: 4 });
    machine.bmc.inject({ path: /Tasks\/7$/, status: 404 });
    await operator.provision(name, 'clean', { clean_steps: [create], disable_ramdisk: true });
    await waitsFor('the BMC to show what came of the change');
    expect((await operator.node(name))['driver_internal_info']).toHaveProperty('baton_power_hold');
    letItEnd();
    await operator.waitForState(name, 'manageable');
    expect(await raidConfig()).toMatchObject([{ raid_level: '1' }, { raid_level: '5' }]);
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(powerOns()).toBe(0);
  });

  test('whose task is named as a task, which is always 200, is followed to its end', async () => {
    const headers = { Location: '/redfish/v1/TaskService/Tasks/7' };
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, actsAs: 202, headers });
    machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Running' }, times: Number.POSITIVE_INFINITY });
    await begin(['Immediate']);
    const looks = () => machine.bmc.requests.filter(({ path }) => path.endsWith('/Tasks/7')).length;
    await expect.poll(looks).toBeGreaterThan(3);
    expect(powerOns()).toBe(0);
    machine.bmc.clearFaults();
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(powerOns()).toBe(0);
  });

  test.each([
    ['at once', ['Immediate'], 'is in use'],
    ['at a reset', ['OnReset'], 'the controller to make RAID 1'],
  ])('is not reset by a conductor that takes over (made %s)', async (_when, applyTimes, seen) => {
    let reached = false;
    conductor.atCheckpoints((point) => {
      if (reached || point !== 'acted' || posts().length === 0) return 'go on';
      reached = true;
      return 'die';
    });
    machine.bmc.inject({ method: 'POST', path: /Volumes$/, dropAnswer: true });
    await begin(applyTimes);
    await waitsFor(seen);
    expect(reached).toBe(true);
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(powerOns()).toBe(applyTimes[0] === 'OnReset' ? 1 : 0);
  });

  test('whose BMC shows no drives or no controllers for a while has not ended', async () => {
    await begin(['OnReset']);
    await waitsFor('the controller to make RAID 1');
    machine.bmc.inject({ path: /Storage$/, body: { Members: [] }, times: 1 });
    await waitsFor('the controllers to show their drives');
    await end();
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

const starting = {
  Id: 'RAID.Integrated.1-1',
  Drives: [],
  // where there are none
  Volumes: { '@odata.id': '/redfish/v1/Systems/1/Storage/AHCI.Embedded.1-1/Volumes' },
};

test.each([
  ['no controllers', { path: /Storage$/, body: { Members: [] } }],
  ['one controller of two, as the other starts,', { path: /RAID[^/]*$/, body: starting }],
])('volumes are not taken for deleted while a BMC shows %s for a moment', async (_what, fault) => {
  Object.assign(machine.bmc.quirks, { volumeApplyTimes: ['OnReset'], plainController: true });
  await wantRaid(root);
  await clean([create]);
  const { promise, resolve } = Promise.withResolvers<void>();
  machine.bmc.quirks.volumesMadeAfter = promise;
  await operator.provision(name, 'clean', { clean_steps: [remove], disable_ramdisk: true });
  const flow = async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
  await expect.poll(flow).toContain('the controller to delete root');
  machine.bmc.inject({ method: 'GET', ...fault });
  await expect.poll(flow).toContain('the BMC to show its storage controllers again');
  resolve();
  await operator.waitForState(name, 'manageable');
  expect(await raidConfig()).toBeUndefined();
});

test.each([
  ['make', create, []],
  ['delete', remove, [create]],
])(
  'a reset that is refused when a controller is to %s volumes is named, and asked for again',
  async (_what, step, before) => {
    machine.bmc.quirks.volumeApplyTimes = ['OnReset'];
    await wantRaid(root);
    if (before.length > 0) await clean(before);
    machine.bmc.inject({ method: 'POST', path: /ComputerSystem\.Reset$/, status: 400, times: 4 });
    await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
    const flow = async () => JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
    await expect.poll(flow).toContain('the machine to be reset');
    expect(await flow()).not.toContain('to show their volumes');
    machine.bmc.clearFaults();
    await operator.waitForState(name, 'manageable');
    expect((await raidConfig()) === undefined).toBe(step === remove);
  },
);

test('refused: software RAID, drives that there are not, and drives of other volumes', async () => {
  const fails = async (text: string): Promise<void> => {
    await operator.provision(name, 'clean', { clean_steps: [create], disable_ramdisk: true });
    await operator.waitForState(name, 'clean failed');
    expect(await operator.node(name)).toMatchObject({ last_error: expect.stringContaining(text) as string });
    await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
    await operator.provision(name, 'manage');
    await operator.waitForState(name, 'manageable');
  };
  await wantRaid({ size_gb: 'MAX', raid_level: '1', controller: 'software' });
  await fails("set raid_interface to 'agent'");
  await wantRaid({ ...root, size_gb: 600 });
  await fails('Disk.Bay.0 (480 GiB)');
  await wantRaid(root);
  await clean([create]);
  await wantRaid({ ...root, raid_level: '0', number_of_physical_disks: 2 });
  await fails('the drives are those of root: run raid.delete_configuration first');
  expect(posts()).toHaveLength(1);
});

test('volumes made at a reset share it with the BIOS settings of the next steps', async () => {
  machine.bmc.quirks.volumeApplyTimes = ['OnReset'];
  await wantRaid(root);
  const setting = (name: string, value: string | number) => ({
    interface: 'bios',
    step: 'apply_configuration',
    args: { settings: [{ name, value }] },
  });
  const before = powerOns();
  await clean([create, setting('NumCores', 4), setting('SysProfile', 'Performance')]);
  expect(powerOns() - before).toBe(1);
  const reported = (await operator.call('GET', `/v1/nodes/${name}/bios`))['bios'];
  expect(reported).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'NumCores', value: '4' }),
      expect.objectContaining({ name: 'SysProfile', value: 'Performance' }),
    ]),
  );
  expect(await raidConfig()).toHaveLength(1);
});
