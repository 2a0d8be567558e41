import { describe, expect, test, vi } from 'vitest';
import type { RedfishOptions } from '#conductor/drivers/redfish/redfish.ts';
import { createRigs, hastyClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';

const { rig } = createRigs();
const system = { '@odata.id': '/redfish/v1/Systems/1' };
const volumes = /Volumes$/;

describe('the only system', () => {
  test.each([
    ['an empty place before it', { Members: [null, system], 'Members@odata.count': 2 }],
    ['something without a link before it', { Members: [{}, system], 'Members@odata.count': 2 }],
    ['no count', { Members: [system] }],
  ])('is found with %s', async (_what, body) => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems$/, body });
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test.each([
    ['it says that there are more', { Members: [system], 'Members@odata.count': 2 }, 'has 2 members, and shows 1'],
    ['it names two', { Members: [system, { '@odata.id': '/redfish/v1/Systems/2' }] }, 'needs redfish_system_id'],
    ['it has no members, and no count', { Name: 'Systems' }, 'no count of 0'],
  ])('is not known where %s', async (_what, body, words) => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems$/, body });
    await expect(bmc.power.getPowerState()).rejects.toThrow(words);
    expect(bmc.simulator.requests.map(({ path }) => path)).not.toContain('/redfish/v1/Systems/1');
  });
});

describe('volumes, which may hold drives and data', () => {
  test.each([
    ['an empty place', { Members: [null], 'Members@odata.count': 1 }, 'none'],
    ['a count of none alone', { 'Members@odata.count': 0 }, 'none'],
    ['one without a link', { Members: [{}], 'Members@odata.count': 1 }, 'has 1 members, and shows 0'],
    ['fewer than the count', { Members: [], 'Members@odata.count': 3 }, 'has 3 members, and shows 0'],
    ['no members, and no count', { Name: 'Volumes' }, 'no count of 0'],
  ])('%s', async (_what, body, expected) => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: volumes, body, times: 2 });
    const count = bmc.raid?.getControllers().then((all) => all.flatMap((each) => each.volumes).length || 'none');
    expect(await count?.catch(errorChain)).toContain(expected);
  });
});

test.each([404, 500])('a drive that answers %i is left out and named', async (status) => {
  const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1 } });
  bmc.simulator.inject({ method: 'GET', path: /Drives\/Disk.Bay.3$/, status, times: 5 });
  const [controller] = (await bmc.raid?.getControllers()) ?? [];
  expect(controller?.drives.map(({ name }) => name)).toEqual([0, 1, 2, 4, 5].map((bay) => `Disk.Bay.${bay}`));
  expect(controller?.unread).toEqual(['Disk.Bay.3']);
});

const bad: readonly (readonly [string, Omit<Fault, 'path'>, RedfishOptions])[] = [
  ['hangs', { hang: true }, { answerMs: 700, attempts: 3 }],
  ['is never ready', { status: 503 }, {}],
  ['cuts the connection', { drop: true }, {}],
];
describe.each(bad)('a part that %s', (_what, fault, options) => {
  const isThird = /Disk.Bay.3$|FirmwareInventory\/BMC$|VirtualMedia\/Floppy$/;

  test('is left out', async () => {
    const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1, ...options } });
    bmc.simulator.inject({ ...fault, method: 'GET', path: isThird, times: 99 });
    expect((await bmc.raid?.getControllers())?.[0]?.unread).toEqual(['Disk.Bay.3']);
    expect((await bmc.firmware?.getComponents())?.components).toContainEqual({
      component: 'NIC.Slot.1',
      version: '1.0.0',
    });
    expect(await bmc.virtualMedia?.list()).toHaveLength(1);
  });

  test('is an error of a BMC that does not answer for itself either', async () => {
    const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1, ...options } });
    expect(await bmc.power.getPowerState()).toBe('power off');
    bmc.simulator.inject({ ...fault, method: 'GET', path: /Disk.Bay|\/v1\/$/, times: 99 });
    await expect(bmc.raid?.getControllers()).rejects.toMatchObject({
      code: expect.stringMatching(/^(timeout|unavailable)$/) as string,
    });
  });
});

test('each part that hangs halves the time of the next, so that a call outlives many', async () => {
  const bmc = await rig({ clock: hastyClock, redfish: { answerMs: 700 } });
  bmc.simulator.inject({ method: 'GET', path: /Disk.Bay.[0-2]$/, hang: true, times: 3 });
  const times = vi.spyOn(AbortSignal, 'timeout');
  const [controller] = (await bmc.raid?.getControllers()) ?? [];
  expect(controller?.drives.map(({ name }) => name)).toEqual(['Disk.Bay.3', 'Disk.Bay.4', 'Disk.Bay.5']);
  const ofDrives = times.mock.calls.map(([ms]) => ms).filter((ms) => ms <= 40_000);
  times.mockRestore();
  expect([...new Set(ofDrives)]).toEqual([40_000, 20_000, 10_000, 5_000]);
});

test('each of an inventory of hundreds has its own time', async () => {
  const bmc = await rig();
  const place = '/redfish/v1/UpdateService/FirmwareInventory';
  const items = Array.from({ length: 130 }, (_, index) => `${place}/Item${index}`);
  bmc.simulator.inject({ path: /FirmwareInventory$/, body: { Members: items.map((path) => ({ '@odata.id': path })) } });
  for (const path of items) {
    const Id = path.slice(place.length + 1);
    bmc.simulator.inject({
      path: new RegExp(`${Id}$`),
      body: { '@odata.id': path, Id, Version: '1', Updateable: true },
    });
  }
  const times = vi.spyOn(AbortSignal, 'timeout');
  const found = (await bmc.firmware?.getComponents())?.components;
  const longest = Math.max(...times.mock.calls.map(([ms]) => ms));
  times.mockRestore();
  expect(found?.filter(({ component }) => component.startsWith('Item'))).toHaveLength(130);
  // at three seconds for each
  expect(longest).toBeGreaterThan(130 * 3000);
});

describe('of several managers', () => {
  const place = (name: string) => ({ '@odata.id': `/redfish/v1/Managers/${name}` });
  const named = {
    '@odata.id': '/redfish/v1/Systems/1',
    PowerState: 'Off',
    BiosVersion: '1.0.0',
    Links: { ManagedBy: [place('Enclosure'), place('1')] },
  };
  const enclosure = {
    ManagerType: 'EnclosureManager',
    FirmwareVersion: '7.0',
    Actions: { '#Manager.Reset': { target: '/redfish/v1/Managers/Enclosure/Reset' } },
  };

  test('the BMC is what is restarted and updated', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: named, times: 9 });
    bmc.simulator.inject({ method: 'GET', path: /Managers\/Enclosure$/, body: enclosure, times: 9 });
    expect((await bmc.firmware?.getComponents())?.components).toContainEqual({ component: 'bmc', version: '1.0.0' });
    await bmc.management.resetBmc?.();
    expect(bmc.simulator.counters.bmcResets).toBe(1);
  });

  test("the system's is what it names, as Huawei's do, where the service has others", async () => {
    const bmc = await rig();
    const links = { ...named, Links: { Managers: [place('1')] } };
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: links, times: 9 });
    const all = { Members: [place('Enclosure'), place('1')], 'Members@odata.count': 2 };
    bmc.simulator.inject({ method: 'GET', path: /Managers$/, body: all, times: 9 });
    expect((await bmc.firmware?.getComponents())?.components).toContainEqual({ component: 'bmc', version: '1.0.0' });
  });

  test('none is where none or two are said to be it', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: named, times: 9 });
    bmc.simulator.inject({
      method: 'GET',
      path: /Managers\/\w+$/,
      body: { ...enclosure, ManagerType: 'BMC' },
      times: 9,
    });
    const components = (await bmc.firmware?.getComponents())?.components;
    expect(components?.map(({ component }) => component)).not.toContain('bmc');
    await expect(bmc.management.resetBmc?.()).rejects.toThrow(
      'names /redfish/v1/Managers/Enclosure, /redfish/v1/Managers/1, and which is its BMC',
    );
  });
});
