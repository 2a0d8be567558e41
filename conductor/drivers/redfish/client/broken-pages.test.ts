import { describe, expect, test } from 'vitest';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** Collections that can't be read, or only in part: the rest is there, and what counts by its absence is not known. */

const { rig } = createRigs();
const open = (quirks = {}): Promise<Rig> => rig({ quirks, clock: hastyClock, redfish: { retryMs: 1 } });
const inventory = '/redfish/v1/UpdateService/FirmwareInventory';
const asked = (bmc: Rig, path: RegExp) => bmc.simulator.requests.filter((each) => path.test(each.path)).length;

describe.each([
  ['404', { status: 404 }],
  ['500', { status: 500 }],
  ['401', { status: 401 }],
  ['a page', { body: '<html>not now</html>' }],
  ['nothing', { body: {} }],
  ['no answer', { drop: true }],
])('a part that answers %s', (_what, fault) => {
  test.each([
    ['network adapters', /NetworkAdapters$/, ['bios', 'bmc', 'NIC.Slot.1']],
    ['the inventory', /FirmwareInventory$/, ['bios', 'bmc', 'nic:NIC.Slot.1']],
    ['the update service', /UpdateService$/, ['bios', 'bmc', 'nic:NIC.Slot.1']],
    ['the manager', /Managers\/1$/, ['bios', 'NIC.Slot.1', 'nic:NIC.Slot.1']],
  ])('leaves the other components (%s)', async (_part, path, names) => {
    const bmc = await open();
    bmc.simulator.inject({ method: 'GET', path, ...fault, times: 99 });
    const found = await bmc.firmware?.getComponents();
    expect(found?.components.map(({ component }) => component)).toEqual(expect.arrayContaining(names));
    expect(found?.fault?.name).toBe(/Update|Inventory/.test(path.source) ? 'AppError' : undefined);
    const missing = ['bmc', 'NIC.Slot.1', 'nic:NIC.Slot.1'].filter((name) => !names.includes(name));
    expect(missing.map((name) => found?.mayHide(name))).toEqual(missing.map(() => true));
    // a component that isn't shown may be what can't be read
    await bmc.firmware?.requireComponents?.(['nic:NIC.7']);
  });

  test('keeps an image for a card back while it may hide the item of the card', async () => {
    const bmc = await open();
    const update = { component: 'nic:NIC.Slot.1', url: 'http://192.0.2.7/nic.bin', mustPush: false };
    bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory$/, ...fault, times: 99 });
    bmc.simulator.inject({ method: 'POST', path: /SimpleUpdate$/, status: 202 });
    const begin = bmc.firmware?.startUpdate(update, () => Promise.reject(new Error('no image is sent')));
    await expect(begin).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    expect(asked(bmc, /SimpleUpdate$/)).toBe(0);
  });

  test('keeps an image for a card back while it is an item that may be the one of the card', async () => {
    const bmc = await open();
    const update = { component: 'nic:NIC.Slot.1', url: 'http://192.0.2.7/nic.bin', mustPush: false };
    bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory\/NIC/, ...fault, times: 99 });
    bmc.simulator.inject({ method: 'POST', path: /SimpleUpdate$/, status: 202 });
    const begin = bmc.firmware?.startUpdate(update, () => Promise.reject(new Error('no image is sent')));
    await expect(begin).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    expect(asked(bmc, /SimpleUpdate$/)).toBe(0);
  });

  test('does not refuse for good the update of a component that it may hide', async () => {
    const bmc = await open();
    const update = { component: 'NIC.Slot.1', url: 'http://192.0.2.7/nic.bin', mustPush: false };
    const begin = () => bmc.firmware?.startUpdate(update, () => Promise.reject(new Error('no image is sent')));
    bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory$/, ...fault, times: 99 });
    await expect(begin()).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    bmc.simulator.clearFaults();
    bmc.simulator.inject({ method: 'POST', path: /SimpleUpdate$/, status: 202 });
    expect(await begin()).toMatchObject({ before: expect.any(String) as string });
  });

  test('lets a new version of a BIOS count after an update whose answer was lost, but no old one', async () => {
    const bmc = await open();
    const bios = (await bmc.firmware?.getComponents())?.components.find(({ component }) => component === 'bios');
    bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory$/, ...fault, times: 99 });
    const before = { version: '0.9', tasks: null };
    expect(await bmc.firmware?.findUpdate('bios', before)).toEqual({ state: 'another version' });
    const same = { version: bios?.version ?? null, tasks: null };
    await expect(bmc.firmware?.findUpdate('bios', same)).rejects.toMatchObject({ name: 'AppError' });
  });

  test('leaves the other sensors, and is an error where no sensor is left', async () => {
    const bmc = await open();
    const all = await bmc.management.getSensors?.();
    bmc.simulator.inject({ method: 'GET', path: /Thermal$/, ...fault, times: 99 });
    const found = (await bmc.management.getSensors?.()) ?? [];
    expect(found.length).toBeGreaterThan(0);
    expect(all?.length).toBeGreaterThan(found.length);
    bmc.simulator.inject({ method: 'GET', path: /Power$/, ...fault, times: 99 });
    await expect(bmc.management.getSensors?.()).rejects.toMatchObject({ name: 'AppError' });
  });

  test('does not pass for an empty log', async () => {
    const bmc = await open();
    bmc.simulator.inject({ method: 'GET', path: /Entries$/, ...fault, times: 99 });
    await expect(bmc.management.getEventLog?.(5)).rejects.toMatchObject({ name: 'AppError' });
  });
});

const item = (name: string) => ({ '@odata.id': `${inventory}/${name}` });
describe('pages of an inventory', () => {
  const first = { Members: [item('BIOS')], 'Members@odata.count': 3, 'Members@odata.nextLink': `${inventory}/page2` };
  const names = async (bmc: Rig) => (await bmc.firmware?.getComponents())?.components.map(({ component }) => component);
  const unread = (bmc: Rig) => bmc.firmware?.requireComponents?.(['other']);

  test.each([
    ['leads to itself', { body: { ...first, 'Members@odata.nextLink': inventory } }, {}],
    ['leads to one that leads back', { body: first }, { body: { Members: [], 'Members@odata.nextLink': inventory } }],
    ['leads to one that is not there', { body: first }, { status: 404 }],
    ['leads to one that fails', { body: first }, { status: 500, times: 9 }],
    ['leads to one without members', { body: first }, { body: {} }],
    ['leads to itself by another name', { body: first }, { body: { ...first }, times: 99 }],
  ])('the first of which %s: what was read is there, and the rest not known', async (_how, one, two) => {
    const bmc = await open();
    bmc.simulator.inject({ path: /FirmwareInventory$/, ...one, times: 99 });
    bmc.simulator.inject({ path: /page2$/, ...two });
    expect(await names(bmc)).toEqual(['bios', 'bmc', 'nic:NIC.Slot.1']);
    expect(asked(bmc, /FirmwareInventory(\/page2)?$/)).toBeLessThan(9);
    await unread(bmc);
  });

  test('that lead back once all is shown are whole', async () => {
    const bmc = await open();
    const body = { Members: [item('BIOS')], 'Members@odata.count': 1, 'Members@odata.nextLink': inventory };
    bmc.simulator.inject({ path: /FirmwareInventory$/, body, times: 99 });
    await expect(unread(bmc)).rejects.toThrow('the BMC has no such component');
  });
});

describe('where absence matters, pages that can not all be read are no answer', () => {
  const volumes = /Volumes$/;
  test.each([
    ['one that leads to itself', { Members: [], 'Members@odata.nextLink': '' }, 'leads back to its page'],
    [
      'one that leads to a page that is missing',
      { Members: [], 'Members@odata.nextLink': '/redfish/v1/Gone' },
      'answered 404',
    ],
  ])('of volumes: %s', async (_what, body, words) => {
    const bmc = await open();
    const path = (await bmc.raid?.getControllers())?.[0]?.volumesPath;
    const next = body['Members@odata.nextLink'] || path;
    bmc.simulator.inject({ method: 'GET', path: volumes, body: { ...body, 'Members@odata.nextLink': next }, times: 9 });
    const failure = await bmc.raid?.getControllers().catch(errorChain);
    expect(failure).toContain(words);
    expect(asked(bmc, volumes)).toBeLessThan(9);
  });

  test('of event subscriptions', async () => {
    const bmc = await open();
    const body = { Members: [], 'Members@odata.nextLink': '/redfish/v1/EventService/Subscriptions' };
    bmc.simulator.inject({ method: 'GET', path: /Subscriptions$/, body, times: 9 });
    await expect(bmc.events?.read('1')).rejects.toThrow('leads back to its page');
  });

  test('of systems', async () => {
    const bmc = await open();
    const one = { '@odata.id': '/redfish/v1/Systems/1' };
    const body = { Members: [one], 'Members@odata.nextLink': '/redfish/v1/Systems' };
    bmc.simulator.inject({ method: 'GET', path: /Systems$/, body, times: 9 });
    await expect(bmc.power.getPowerState()).rejects.toThrow('leads back to its page');
    bmc.simulator.clearFaults();
    bmc.simulator.inject({ method: 'GET', path: /Systems$/, body: { ...body, 'Members@odata.count': 1 }, times: 9 });
    expect(await bmc.power.getPowerState()).toBe('power off');
  });
});
