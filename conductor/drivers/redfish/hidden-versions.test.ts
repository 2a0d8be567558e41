import { expect, test } from 'vitest';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';

/** Parts that are there, and show no version while they are written: none of them is known to be gone. */

const { rig } = createRigs();
const open = (): Promise<Rig> => rig({ clock: hastyClock, redfish: { retryMs: 1 } });
const times = Number.POSITIVE_INFINITY;
const inventory = '/redfish/v1/UpdateService/FirmwareInventory';

const cards = /NetworkAdapters\/NIC/;
test.each([
  ['a card without its controllers', 'nic:NIC.Slot.1', cards, { Id: 'NIC.Slot.1', Status: { State: 'Starting' } }],
  ['a card without a name, either', 'nic:NIC.Slot.1', cards, { Name: 'Adapter' }],
  ['a manager without its version', 'bmc', /Managers\/1$/, { Id: '1', FirmwareVersion: null }],
  ['an item without its version', 'NIC.Slot.1', /FirmwareInventory\/NIC/, { Id: 'NIC.Slot.1', Version: null }],
])('%s may have another one by now', async (_what, component, path, body) => {
  const bmc = await open();
  bmc.simulator.inject({ method: 'GET', path, body, times });
  const found = await bmc.firmware?.getComponents();
  const listed = found?.components.find((each) => each.component === component);
  expect(listed?.version ?? null).toBeNull();
  expect(listed ?? found?.mayHide(component)).toBeTruthy();
  const before = { version: '0.9', tasks: null };
  await expect(bmc.firmware?.findUpdate(component, before)).rejects.toMatchObject({ code: 'unavailable' });
});

test('an item that can not be read may be one whose name differs by its version', async () => {
  const bmc = await open();
  const old = 'Installed-25227-7.00.00__iDRAC.Embedded.1-1';
  const members = ['Installed-25227-7.10.30__iDRAC.Embedded.1-1', 'BIOS'];
  const body = { Members: members.map((id) => ({ '@odata.id': `${inventory}/${id}` })) };
  bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory$/, body, times });
  const found = await bmc.firmware?.getComponents();
  expect(found?.mayHide(old, '7.00.00')).toBe(true);
  expect(found?.mayHide(old)).toBe(false);
  expect(found?.mayHide('Installed-159-7.00.00__BIOS.Setup.1-1', '7.00.00')).toBe(false);
});

test('a card that is gone, with all the others there, is gone', async () => {
  const bmc = await open();
  expect((await bmc.firmware?.getComponents())?.mayHide('nic:NIC.Slot.2', '1.0.0')).toBe(false);
});
