import { expect, test } from 'vitest';
import { chooseDisks } from '#agent/erase/choose-disks.ts';
import { addIdentity } from '#agent/storage/device-identity.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { assert, asyncProperty, boolean, constantFrom, record, shuffledSubarray } from '#test/fuzz/fast-check.ts';

/** All by which one SAS disk may be called, by the hint that names it so. */
const names: readonly (readonly [hint: string, value: string, property: string])[] = [
  ['by_path', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1', 'DEVLINKS'],
  ['by_path', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0', 'DEVLINKS'],
  ['by_path', '/dev/disk/by-path/pci-0000:03:00.0-sas-phy3-lun-0', 'DEVLINKS'],
  ['name', '/dev/disk/by-id/wwn-0x5000cca0541ae674', 'DEVLINKS'],
  ['name', '/dev/disk/by-id/scsi-35000cca0541ae674', 'DEVLINKS'],
  ['serial', 'KJGATM4R', 'ID_SCSI_SERIAL'],
  ['serial', 'KJGATM4R', 'SCSI_IDENT_SERIAL'],
  ['serial', '5000cca0541ae674', 'ID_SERIAL_SHORT'],
  ['serial', '35000cca0541ae674', 'ID_SERIAL'],
  ['wwn', '0x5000cca0541ae674', 'ID_WWN'],
  ['wwn', 'naa.5000CCA0541AE674', 'ID_WWN'],
  ['wwn', '0x5000cca0541ae6740000000000000001', 'ID_WWN_WITH_EXTENSION'],
  ['wwn_with_extension', 'naa.5000CCA0541AE6740000000000000001', 'ID_WWN_WITH_EXTENSION'],
];
const noDevices = { sys: '/nowhere', dev: '/nowhere' };

const asUdevWrites = (_wwn: string, digits: string): string => `0x${digits.toLowerCase()}`;

/** Composes what udev prints of these names, in this order. */
function udevOutput(drawn: readonly (typeof names)[number][]): string {
  const links = drawn.flatMap(([, value, property]) => (property === 'DEVLINKS' ? [value] : []));
  const rest = drawn.filter(([, , property]) => property !== 'DEVLINKS');
  const lines = new Set(rest.map(([, value, property]) => `${property}=${value.replace(/^naa\.(.*)/, asUdevWrites)}`));
  return [...lines, `DEVLINKS=${links.join(' ')}`, 'USEC_INITIALIZED=1', ''].join('\n');
}

const read = (output: string, device: Partial<BlockDevice>) =>
  addIdentity(() => Promise.resolve(ranWell(output)), testDevice(device), noDevices);

const drawn = record({
  by: constantFrom(...names),
  others: shuffledSubarray([...names]),
  isFirst: boolean(),
  isNamedByLsblk: boolean(),
});

test('whichever of its names udev prints, in whichever order: a protected disk is neither erased nor chosen', async () => {
  let calls = 0;
  await assert(
    asyncProperty(drawn, async ({ by, others, isFirst, isNamedByLsblk }) => {
      const rest = others.filter((each) => each !== by);
      const output = udevOutput(isFirst ? [by, ...rest] : [...rest, by]);
      const lsblk = isNamedByLsblk ? { serial: 'of-lsblk', wwn: '0x5000cca000000777' } : {};
      const kept = await read(output, { name: '/dev/sda', ...lsblk });
      const free = await read('ID_SERIAL_SHORT=FREE\nUSEC_INITIALIZED=1\n', { name: '/dev/sdb' });
      const properties = { skip_block_devices: [{ [by[0]]: by[1] }] };
      const { disks } = chooseDisks([kept, free], readSkipList(properties), { skipReadOnly: false });
      expect(disks.map(({ name }) => name)).toEqual(['/dev/sdb']);
      expect(chooseRootDevice([kept, free], { properties, instance_info: {} }).name).toBe('/dev/sdb');
      // and by the same name it is found
      const hints = { root_device: { [by[0]]: by[1] } };
      expect(chooseRootDevice([kept, free], { properties: hints, instance_info: {} }).name).toBe('/dev/sda');
      calls += 1;
    }),
    { numRuns: 1500 },
  );
  expect(calls).toBeGreaterThanOrEqual(1000);
});

test('what is shown of a disk does not depend on the order in which udev prints its names', async () => {
  const first = await read(udevOutput(names), {});
  await assert(
    asyncProperty(shuffledSubarray([...names], { minLength: names.length }), async (shuffled) => {
      const again = await read(udevOutput(shuffled), {});
      expect(again).toEqual(first);
    }),
    { numRuns: 300 },
  );
});
