import { describe, expect, test } from 'vitest';
import { type Firmware, firmware, pathTo } from '#agent/boot/testing/firmware.ts';
import { type BootPlaces, writeBootEntries } from '#agent/boot/write-boot-entries.ts';

const guid = (digit: number): string => `5c1e000${digit}-0a1b-4c2d-8e3f-000000000001`;
const [own, other, gone, twin] = [guid(1), guid(2), guid(3), guid(4)];
const partitions = { '/dev/vda 1': own, '/dev/vdb 1': other };
const shim = '\\EFI\\debian\\shimx64.efi';
const entry = { device: '/dev/vda', partition: 1, label: 'debian', loader: shim };

function places(change: Partial<BootPlaces> = {}): BootPlaces {
  return {
    known: {
      ids: new Map([
        ['/dev/vda1', own],
        ['/dev/vdb1', other],
      ]),
      doubts: [],
    },
    files: new Map([[own, new Set(['\\efi\\debian\\shimx64.efi', '\\efi\\boot\\bootx64.efi'])]]),
    hasRemovablePath: false,
    ...change,
  };
}

const labels = ({ order, entries }: Firmware) => order.map((number) => entries.get(number)?.split('\t')[0]);
const nothingToDrop = () => Promise.resolve();

describe('older entries', () => {
  test.each(['none', 'new last'] as const)('of the same system go, and the new one is first (%s)', async (habit) => {
    const machine = firmware(
      { '0000': 'UiApp\tFvVol(7c)/FvFile(46)', '0001': `debian\t${pathTo(own, shim)}`, '0002': 'PXE\tPciRoot(0x0)' },
      partitions,
    );
    machine.habit = habit;
    expect(await writeBootEntries(machine.run, [entry], places(), nothingToDrop)).toEqual({
      removed: ['debian'],
      warnings: [],
    });
    expect(labels(machine)).toEqual(['debian', 'UiApp', 'PXE']);
  });

  test('twice is as once', async () => {
    const machine = firmware({ '0000': 'UiApp\tFvVol(7c)/FvFile(46)' }, partitions);
    for (const _ of [1, 2]) await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    expect(labels(machine)).toEqual(['debian', 'UiApp']);
  });

  test('of earlier images go: their files, or their partitions, are not there any more', async () => {
    const machine = firmware(
      {
        '0000': `ironic1\t${pathTo(own, '\\EFI\\old\\grubx64.efi')}`,
        '0001': `newos\t${pathTo(gone, '\\EFI\\BOOT\\BOOTX64.EFI')}`,
        '0002': `UEFI OS\t${pathTo(own, '\\EFI\\BOOT\\BOOTX64.EFI')}..BO`,
      },
      partitions,
    );
    const { removed } = await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    expect(removed).toEqual(['ironic1', 'newos']);
    expect(labels(machine)).toEqual(['debian', 'UEFI OS']);
  });

  test('of another disk stay, whatever their label and file', async () => {
    const there = `debian\t${pathTo(other, shim)}`;
    const machine = firmware({ '0000': there, '0001': `other\t${pathTo(other, '\\EFI\\none.efi')}` }, partitions);
    await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    expect(machine.entries.get('0000')).toBe(there);
    expect(labels(machine)).toEqual(['debian', 'debian', 'other']);
    expect(machine.order[0]).not.toBe('0000');
  });

  test('that are not understood stay, whatever their label', async () => {
    const odd = {
      '0000': 'debian',
      '0001': 'debian\tVenHw(99e275e7)',
      '0002': `debian\tHD(1,800,f3800,${own})File(x)`,
    };
    const machine = firmware(odd, partitions);
    expect((await writeBootEntries(machine.run, [entry], places(), nothingToDrop)).removed).toEqual([]);
    expect(labels(machine)).toEqual(['debian', 'debian', 'debian', 'debian']);
  });

  test('of partitions that no disk has stay where a disk could not be read', async () => {
    const machine = firmware({ '0000': `old\t${pathTo(gone, shim)}` }, partitions);
    const { known } = places();
    const doubtful = places({ known: { ...known, doubts: ["/dev/vdc can't be read"] } });
    expect((await writeBootEntries(machine.run, [entry], doubtful, nothingToDrop)).removed).toEqual([]);
  });

  test('of an identifier that two disks have stay: only one of them was looked into', async () => {
    const machine = firmware({ '0000': `old\t${pathTo(own, '\\EFI\\old.efi')}` }, partitions);
    const ids = new Map([...places().known.ids, ['/dev/vdc1', own]]);
    await writeBootEntries(machine.run, [entry], places({ known: { ids, doubts: [] } }), nothingToDrop);
    expect(labels(machine)).toEqual(['debian', 'old']);
  });

  test('the one that is set for the next boot stays, and stays set', async () => {
    const machine = firmware({ '0000': `old\t${pathTo(gone, shim)}` }, partitions);
    machine.next = '0000';
    await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    // a new entry would take its number
    expect(machine.entries.get('0000')).toMatch(/^old/);
    expect(machine.next).toBe('0000');
  });

  test('that an array had are replaced, and those of a plain disk by an array', async () => {
    const machine = firmware(
      {
        '0000': `debian (RAID, part0)\t${pathTo(own, shim)}`,
        '0001': `debian (RAID, part1)\t${pathTo(twin, shim)}`,
        '0002': `debian\t${pathTo(own, shim)}`,
      },
      partitions,
    );
    const raid = ['/dev/vda', '/dev/vdb'].map((device, index) => ({
      ...entry,
      device,
      label: `debian (RAID, part${index})`,
    }));
    await writeBootEntries(machine.run, raid, places(), nothingToDrop);
    expect(labels(machine)).toEqual(raid.map(({ label }) => label));
    // the array and its other partition are gone
    const alone = places({ known: { ids: new Map([['/dev/vda1', own]]), doubts: [] } });
    await writeBootEntries(machine.run, [entry], alone, nothingToDrop);
    expect(labels(machine)).toEqual(['debian']);
  });

  test('that the firmware does not give up are a warning', async () => {
    const machine = firmware({ '0000': `old\t${pathTo(gone, shim)}` }, partitions);
    machine.habit = 'keeps old';
    const { removed, warnings } = await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    expect(removed).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^the old boot entry 0000 \(old\) could not be removed: .*permitted/),
    ]);
    expect(labels(machine)).toEqual(['debian', 'old']);
  });
});

test('several keep their order', async () => {
  const machine = firmware({ '0000': 'UiApp\tFvVol(7c)/FvFile(46)' }, partitions);
  await writeBootEntries(machine.run, [entry, { ...entry, label: 'ironic2' }], places(), nothingToDrop);
  expect(labels(machine)).toEqual(['debian', 'ironic2', 'UiApp']);
});

describe("the firmware's memory is full", () => {
  const full = (): Firmware => {
    const machine = firmware({ '0000': 'UiApp\tFvVol(7c)/FvFile(46)' }, partitions);
    machine.room = 1;
    return machine;
  };

  test('dead entries make room', async () => {
    const machine = firmware({ '0000': `old\t${pathTo(gone, shim)}` }, partitions);
    machine.room = 1;
    expect((await writeBootEntries(machine.run, [entry], places(), nothingToDrop)).warnings).toEqual([]);
    expect(labels(machine)).toEqual(['debian']);
  });

  test('crash dumps are removed, and it is tried again', async () => {
    const machine = full();
    const dropped: string[] = [];
    await writeBootEntries(machine.run, [entry], places(), async () => {
      dropped.push('dump');
      machine.room = 2;
    });
    expect(dropped).toEqual(['dump']);
    expect(labels(machine)).toEqual(['debian', 'UiApp']);
  });

  test('with the removable path it goes on, with a warning', async () => {
    const { removed, warnings } = await writeBootEntries(
      full().run,
      [entry],
      places({ hasRemovablePath: true }),
      nothingToDrop,
    );
    expect(removed).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the firmware took no boot entry for debian .* removable path, .*No space left on device$/,
      ),
    ]);
  });

  test('without it, the error names the step that helps', async () => {
    await expect(writeBootEntries(full().run, [entry], places(), nothingToDrop)).rejects.toMatchObject({
      code: 'storage_error',
      message: expect.stringMatching(
        /no boot entry for debian .*\\EFI\\BOOT has none.* the step clean_uefi_nvram removes/,
      ),
      cause: expect.objectContaining({ message: expect.stringContaining('No space left') }),
    });
  });

  test('the old entry that starts the same file stays, and is first', async () => {
    const machine = firmware(
      { '0000': 'UiApp\tFvVol(7c)/FvFile(46)', '0001': `debian\t${pathTo(own, '\\EFI\\DEBIAN\\SHIMX64.EFI')}` },
      partitions,
    );
    machine.room = 2;
    const { removed, warnings } = await writeBootEntries(machine.run, [entry], places(), nothingToDrop);
    expect(removed).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the firmware took no boot entry for debian .* by the old entry 0001, which starts the same/,
      ),
    ]);
    expect(labels(machine)).toEqual(['debian', 'UiApp']);
  });

  test('an old entry for another file of the partition makes room', async () => {
    const machine = firmware(
      { '0000': 'UiApp\tFvVol(7c)/FvFile(46)', '0001': `debian\t${pathTo(own, '\\EFI\\BOOT\\BOOTX64.EFI')}` },
      partitions,
    );
    machine.room = 2;
    expect(await writeBootEntries(machine.run, [entry], places(), nothingToDrop)).toEqual({
      removed: ['debian'],
      warnings: [],
    });
    expect(machine.entries.get('0001')).toContain('shimx64.efi');
  });

  test('an entry that the firmware forgets is one that it has refused', async () => {
    const machine = full();
    machine.room = 9;
    machine.habit = 'forgets';
    await expect(writeBootEntries(machine.run, [entry], places(), nothingToDrop)).rejects.toMatchObject({
      cause: expect.objectContaining({ message: 'the firmware did not keep the boot entry debian' }),
    });
  });

  test('one of two entries is enough to boot by', async () => {
    const machine = full();
    machine.room = 2;
    const two = [entry, { ...entry, label: 'ironic2' }];
    const { warnings } = await writeBootEntries(machine.run, two, places(), nothingToDrop);
    expect(warnings).toEqual([expect.stringMatching(/^the firmware took no boot entry for ironic2 /)]);
    expect(labels(machine)).toEqual(['debian', 'UiApp']);
  });
});
