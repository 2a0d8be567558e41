import { describe, expect, test } from 'vitest';
import { toKnownDisk } from '#conductor/model/known-disk.ts';
import { osDiskByHints, osDiskOf, writtenDevice } from '#conductor/nodes/boot/os-disk.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

const arrayUuid = '3aaa0122:29827cfa:5331ad66:ca767371';
const inventory = (disks: readonly object[]) =>
  (InventoryDocument.parse({ interfaces: [], disks }).disks ?? []).map(toKnownDisk);
const content = (name: string, type: string) => ({ name, size: 1, type, label: null });
const member = (letter: string) => ({
  name: `/dev/sd${letter}`,
  size: 1000,
  serial: letter.toUpperCase(),
  baton_contents: [content(`/dev/sd${letter}1`, 'linux_raid_member'), content('/dev/md127', 'raid1')],
});
const disks = inventory([
  member('a'),
  member('b'),
  { name: '/dev/md127', size: 900, wwn: arrayUuid },
  { name: '/dev/nvme0n1', size: 2000, serial: 'N', wwn: 'eui.01', model: 'FAST', by_path: '/dev/disk/by-path/pci-1' },
]);

describe('what was written to', () => {
  test('as both agents tell it', () => {
    expect(writtenDevice('image (disk.raw) written to device /dev/sda root_uuid=0x12345678')).toBe('/dev/sda');
    expect(writtenDevice('image (disk.raw) already present on device /dev/nvme0n1')).toBe('/dev/nvme0n1');
    expect(writtenDevice(null)).toBeUndefined();
    expect(writtenDevice('done')).toBeUndefined();
  });

  test('a disk', () => {
    expect(osDiskOf(disks, '/dev/nvme0n1')).toEqual({
      array_uuid: null,
      disks: [
        {
          name: '/dev/nvme0n1',
          serial: 'N',
          serials: [],
          wwn: 'eui.01',
          wwns: [],
          wwn_with_extension: null,
          wwn_vendor_extension: null,
          model: 'FAST',
          by_path: '/dev/disk/by-path/pci-1',
          size: 2000,
        },
      ],
    });
  });

  test("an array's members", () => {
    expect(osDiskOf(disks, '/dev/md127')).toMatchObject({
      array_uuid: arrayUuid,
      disks: [{ serial: 'A' }, { serial: 'B' }],
    });
  });

  test('what the inventory does not tell', () => {
    expect(osDiskOf(disks, '/dev/sdz')).toBeUndefined();
    // ironic-python-agent's: no contents
    expect(
      osDiskOf(inventory([{ name: '/dev/sda' }, { name: '/dev/md0', wwn: arrayUuid }]), '/dev/md0'),
    ).toBeUndefined();
  });
});

describe('hints in its stead', () => {
  const byHints = (hints: unknown) => osDiskByHints(disks, hints === undefined ? {} : { root_device: hints });

  test('that name one disk', () => {
    expect(byHints({ serial: 'n' })).toMatchObject({ disks: [{ name: '/dev/nvme0n1' }] });
    expect(byHints({ wwn: 's== eui.01', size: '< 5' })).toMatchObject({ disks: [{ serial: 'N' }] });
    expect(byHints({ wwn: arrayUuid })).toMatchObject({ array_uuid: arrayUuid });
  });

  test.each([
    [undefined, 'properties.root_device names none by serial or wwn'],
    [{ size: '>= 1' }, 'properties.root_device names none by serial or wwn'],
    [{ serial: '<in> N' }, 'properties.root_device names none by serial or wwn'],
    [{ serial: 's!= A' }, 'properties.root_device names none by serial or wwn'],
    [{ serial: 'GONE' }, 'properties.root_device names no disk of this machine'],
  ])('%j is refused', (hints, why) => {
    expect(() => byHints(hints)).toThrow(why);
    expect(() => byHints(hints)).toThrow("local storage can't be preserved; nothing was touched");
  });
});
