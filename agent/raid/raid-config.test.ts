import { expect, test } from 'vitest';
import { describeRaid } from '#agent/raid/raid-config.ts';

const disk = { size_gb: 10, raid_level: '1', controller: 'software' } as const;
const array = (device: string, uuid: string) => ({
  device,
  uuid,
  active: true,
  level: 'raid1',
  members: ['/dev/vda1', '/dev/vdb1'],
  size: 2,
  working: 2,
  name: 'x',
  metadata: '1.2',
  sizeBytes: 1000,
});
const arrays = [array('/dev/md0', 'a:a'), array('/dev/md1', 'b:b')];

test('the root volume carries a hint by the UUID of its array', () => {
  const config = { logical_disks: [disk, { ...disk, volume_name: 'os', is_root_volume: true }] };
  expect(describeRaid(config, arrays)).toEqual({
    logical_disks: [
      {
        ...disk,
        volume_name: 'md0',
        baton_array: { device: '/dev/md0', uuid: 'a:a', size_bytes: 1000, members: ['/dev/vda1', '/dev/vdb1'] },
      },
      {
        ...disk,
        volume_name: 'os',
        is_root_volume: true,
        root_device_hint: { wwn: 'b:b' },
        baton_array: { device: '/dev/md1', uuid: 'b:b', size_bytes: 1000, members: ['/dev/vda1', '/dev/vdb1'] },
      },
    ],
  });
});

test('where none is named the first is the root', () => {
  const { logical_disks: made } = describeRaid({ logical_disks: [disk, disk] }, arrays);
  expect(made.map((each) => each.root_device_hint)).toEqual([{ wwn: 'a:a' }, undefined]);
});
