import { describe, expect, test } from 'vitest';
import { planRaid, type RaidPlan } from '#agent/raid/plan-raid.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const gib = 1024 ** 3;
const mib = 1024 ** 2;
const disk = (name: string, size = 10, fields: Parameters<typeof testDevice>[0] = {}) =>
  testDevice({ name, sizeBytes: size * gib, ...fields });
const two = [disk('/dev/vda'), disk('/dev/vdb')];
const four = ['a', 'b', 'c', 'd'].map((letter) => disk(`/dev/sd${letter}`));
const software = { controller: 'software' } as const;
const root = { size_gb: 'MAX', raid_level: '1', ...software } as const;

/** `number:start+size` of each partition in MiB, for each disk. */
const layout = (plan: RaidPlan) =>
  plan.disks.map(({ table }) =>
    table.partitions.map((each) => `${each.number}:${each.startBytes / mib}+${each.sizeBytes / mib}`).join(' '),
  );

describe('one volume over two disks', () => {
  test('UEFI: a GPT with room for an EFI system partition', () => {
    const plan = planRaid({ logical_disks: [root] }, two, { bootMode: 'uefi' });
    expect(plan.disks.map(({ table }) => table.label)).toEqual(['gpt', 'gpt']);
    expect(layout(plan)).toEqual(['1:551+9688', '1:551+9688']);
    expect(plan.volumes).toEqual([{ index: 0, name: 'md0', level: '1', members: ['/dev/vda1', '/dev/vdb1'] }]);
  });

  test('BIOS: an MBR; a GPT when asked for, or where an MBR does not reach', () => {
    const bios = planRaid({ logical_disks: [root] }, two, { bootMode: 'bios' });
    expect([bios.disks[0]?.table.label, layout(bios)[0]]).toEqual(['msdos', '1:1+10238']);
    expect(bios.disks[0]?.table.partitions[0]).toMatchObject({ type: 'fd', name: null });
    const asked = planRaid({ logical_disks: [root] }, two, { bootMode: 'bios', diskLabel: 'gpt' });
    expect([asked.disks[0]?.table.label, layout(asked)[0]]).toEqual(['gpt', '1:8+10231']);
    const large = planRaid({ logical_disks: [root] }, [disk('/dev/sda', 3000), disk('/dev/sdb', 3000)], {
      bootMode: 'bios',
    });
    expect(large.disks[0]?.table.label).toBe('gpt');
  });

  test('partitions of disks whose names end in a digit', () => {
    const nvme = [disk('/dev/nvme0n1'), disk('/dev/nvme1n1')];
    const plan = planRaid({ logical_disks: [root] }, nvme, { bootMode: 'uefi' });
    expect(plan.volumes[0]?.members).toEqual(['/dev/nvme0n1p1', '/dev/nvme1n1p1']);
  });
});

describe('several volumes', () => {
  test('the one that takes the rest comes last on the disks, whatever its place in the list', () => {
    const plan = planRaid(
      { logical_disks: [root, { size_gb: 4, raid_level: '0', volume_name: 'data', ...software }] },
      two,
      { bootMode: 'bios' },
    );
    // 4 GiB striped over two disks
    expect(layout(plan)[0]).toBe('1:1+2048 2:2049+8190');
    expect(plan.volumes.map(({ name, members }) => `${name} ${members.join()}`)).toEqual([
      'md0 /dev/vda2,/dev/vdb2',
      'data /dev/vda1,/dev/vdb1',
    ]);
  });

  test('what each level takes of each disk', () => {
    const sizes = (['1', '1+0', '5', '6'] as const).map((level) => {
      const plan = planRaid({ logical_disks: [{ size_gb: 6, raid_level: level, ...software }] }, four, {
        bootMode: 'bios',
      });
      return (plan.disks[0]?.table.partitions[0]?.sizeBytes ?? 0) / gib;
    });
    expect(sizes).toEqual([6, 3, 2, 3]);
  });

  test('disks by hints, each used once for a volume', () => {
    const disks = four.map((each, index) => ({ ...each, rotational: index > 1 }));
    const plan = planRaid(
      {
        logical_disks: [
          { ...root, size_gb: 4, physical_disks: [{ rotational: false }, { rotational: false }] },
          { size_gb: 'MAX', raid_level: '0', ...software, physical_disks: [{ name: '/dev/sdd' }, { size: '>= 5' }] },
        ],
      },
      disks,
      { bootMode: 'uefi' },
    );
    expect(plan.volumes.map(({ members }) => members)).toEqual([
      ['/dev/sda1', '/dev/sdb1'],
      ['/dev/sda2', '/dev/sdd1'],
    ]);
    expect(plan.disks.map((each) => each.disk.name)).toEqual(['/dev/sda', '/dev/sdb', '/dev/sdd']);
  });
});

test('a hint that fits many disks leaves to another the only one that fits it', () => {
  const physical = [{ size: '>= 5' }, { size: '>= 5' }, { name: '/dev/sda' }];
  const plan = planRaid({ logical_disks: [{ ...root, physical_disks: physical }] }, four, { bootMode: 'uefi' });
  expect(plan.volumes[0]?.members).toEqual(['/dev/sda1', '/dev/sdb1', '/dev/sdc1']);
});

test('two hints by one serial number take both of its namespaces, and several paths to one disk are one', () => {
  const [first, second] = ['1', '2'].map((end) => ({
    ...disk(`/dev/nvme0n${end}`),
    serial: 'S4EV',
    wwn: `eui.002538000000000${end}`,
  }));
  const physical = [{ serial: 'S4EV' }, { serial: 'S4EV' }];
  const namespaces = [first, second].filter((each) => each !== undefined);
  const chosen = (disks: readonly ReturnType<typeof disk>[], hints: Record<string, unknown>[]) =>
    planRaid({ logical_disks: [{ ...root, physical_disks: hints }] }, disks, { bootMode: 'uefi' }).volumes[0]?.members;
  expect(chosen(namespaces, physical)).toEqual(['/dev/nvme0n1p1', '/dev/nvme0n2p1']);
  const path = (name: string) => ({ ...disk(name), serial: 'ZC1', wwn: '0x5000c50000000001' });
  expect(
    chosen([path('/dev/sda'), path('/dev/sdb'), disk('/dev/sdc')], [{ serial: 'ZC1' }, { name: '/dev/sdc' }]),
  ).toEqual(['/dev/sda1', '/dev/sdc1']);
});

describe('refused', () => {
  test.each<[string, Parameters<typeof planRaid>[0], readonly ReturnType<typeof disk>[], RegExp]>([
    ['too few disks', { logical_disks: [root] }, [disk('/dev/vda')], /logical_disks\[0\] is of level 1, which needs 2/],
    [
      'a hint that nothing matches',
      { logical_disks: [{ ...root, physical_disks: [{ serial: 'a' }, { serial: 'b' }] }] },
      two,
      /no remaining disk matches logical_disks\[0\].physical_disks\[0\] {"serial":"a"}: \/dev\/vda \(serial is unknown/,
    ],
    [
      'a serial number of more disks than there are hints for',
      { logical_disks: [{ ...root, physical_disks: [{ serial: 'S4EV' }, { size: 10 }] }] },
      [
        { ...disk('/dev/nvme0n1'), serial: 'S4EV', wwn: 'eui.0025380000000001' },
        { ...disk('/dev/nvme0n2'), serial: 'S4EV', wwn: 'eui.0025380000000002' },
        { ...disk('/dev/nvme0n3'), serial: 'S4EV', wwn: 'eui.0025380000000003' },
      ],
      /logical_disks\[0\].physical_disks\[0\].serial names \/dev\/nvme0n1 and \/dev\/nvme0n3 alike: add a hint/,
    ],
    [
      'a hint whose disks are taken',
      { logical_disks: [{ ...root, physical_disks: [{ size: 10 }, { size: 10 }, { size: 10 }] }] },
      two,
      /physical_disks\[2\].*\/dev\/vda \(taken by another hint\)/,
    ],
    [
      'too large',
      { logical_disks: [{ ...root, size_gb: 10 }] },
      two,
      /logical_disks\[0\].size_gb is 10: \/dev\/vda has 9688 MiB left for it, it needs 10240/,
    ],
    [
      'nothing left',
      {
        logical_disks: [
          { ...root, size_gb: 9 },
          { ...root, size_gb: 1, volume_name: 'x' },
        ],
      },
      two,
      /logical_disks\[1\].size_gb is 1: \/dev\/vda has 472 MiB left/,
    ],
  ])('%s', (_name, config, disks, text) => {
    expect(() => planRaid(config, disks, { bootMode: 'uefi' })).toThrow(text);
  });
});
