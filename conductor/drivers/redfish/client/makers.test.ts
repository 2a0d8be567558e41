import { expect, test } from 'vitest';
import { hasMakersWay, makersWays } from '#conductor/drivers/redfish/client/makers.ts';
import { createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { vendors } from '#test/simulators/redfish/vendors.ts';

const { rig } = createRigs();

test('every way of a maker has its public source', () => {
  expect(makersWays.length).toBeGreaterThan(0);
  for (const { source } of makersWays) expect(source).toMatch(/^https:\/\/\S+$/);
});

test.each([
  ['Supermicro', 'SYS-6019U-TN4R4T', true],
  ['Super Micro Computer, Inc.', 'SYS-6019U-TN4R4T', true],
  ['Supermicro', 'ARS-111GL-NHR', false],
  ['supermicro', 'ars-111gl-nhr ', false],
  ['Supermicro', undefined, true],
  ['Dell Inc.', 'PowerEdge R750', false],
  [null, null, false],
])('%s %s: virtual CDs are UsbCd: %s', (maker, model, isSo) => {
  expect(hasMakersWay('boots virtual CDs as UsbCd', { Manufacturer: maker, Model: model })).toBe(isSo);
});

test('a Lenovo is asked to fill what it fills from addresses', async () => {
  const { virtualMedia, simulator } = await rig({ quirks: vendors.Lenovo });
  await virtualMedia?.insert('http://192.0.2.9/one.iso');
  const asked = simulator.requests.flatMap(({ method, path }) => (method === 'PATCH' ? [path] : []));
  expect(asked).toEqual(['/redfish/v1/Systems/1/VirtualMedia/EXT1']);
});

test.each<[string, 'Cd' | 'UsbCd']>([
  ['ARS-111GL-NHR', 'Cd'],
  ['SYS-6019U-TN4R4T', 'UsbCd'],
])('a %s that lists both boots its virtual CD as %s', async (model, target) => {
  const bootTargets = ['None', 'Pxe', 'Hdd', 'Cd', 'UsbCd', 'BiosSetup'];
  const { management, simulator, machine } = await rig({
    quirks: { manufacturer: 'Supermicro', model, bootTargets, cdTarget: target },
  });
  await management.setBootDevice('cdrom', { persistent: false });
  const asked = simulator.requests.flatMap(({ body }) => /"BootSourceOverrideTarget":"(\w+)"/.exec(body)?.[1] ?? []);
  expect(asked).toEqual([target]);
  expect(await machine.getBoot()).toMatchObject({ device: 'cdrom' });
});
