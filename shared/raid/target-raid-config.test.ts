import { describe, expect, test } from 'vitest';
import { hasSoftwareRaid, isSoftwareRaid, parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';

const root = { size_gb: 'MAX', raid_level: '1', controller: 'software', is_root_volume: true };
const data = { size_gb: 100, raid_level: '5', controller: 'software' };
const hints = (count: number) => Array.from({ length: count }, (_, index) => ({ serial: `s${index}` }));
const parse = (...disks: object[]) => parseTargetRaidConfig({ logical_disks: disks });

test('one volume over everything, and two of which one takes the rest', () => {
  expect(parse(root).logical_disks).toEqual([root]);
  expect(parse({ ...root, size_gb: 20 }, { ...data, size_gb: 'MAX' }).logical_disks).toHaveLength(2);
});

test('hardware RAID is not judged by the rules of software RAID', () => {
  const config = parse({ size_gb: 100, raid_level: '6+0', controller: 'RAID.Integrated.1-1', physical_disks: ['d1'] });
  expect(isSoftwareRaid(config)).toBe(false);
});

describe('refused, naming the field', () => {
  test.each<[string, unknown, RegExp]>([
    ['no object', [], /^target_raid_config can't be used/],
    [
      'more disks than there are',
      { logical_disks: Array.from({ length: 300 }, () => 1) },
      /^target_raid_config can't be used: logical_disks has 300 members, and may have at most 256$/,
    ],
    ['no disks', { logical_disks: [] }, /logical_disks must have at least one/],
    ['unknown key', { logical_disks: [{ ...root, colour: 'red' }] }, /logical_disks\[0\].*colour/],
    ['size', { logical_disks: [{ ...root, size_gb: '100' }] }, /logical_disks\[0\].size_gb must be a whole number/],
    [
      'level',
      { logical_disks: [{ ...root, raid_level: '7' }] },
      /logical_disks\[0\].raid_level must be one of JBOD, 0/,
    ],
    ['one hint', { logical_disks: [{ ...root, physical_disks: hints(1) }] }, /physical_disks must be a list/],
    ['names', { logical_disks: [{ ...root, physical_disks: ['a', 'b'] }] }, /must be objects of disk hints/],
    ['two roots', { logical_disks: [root, { ...data, is_root_volume: true }] }, /is_root_volume may be true for one/],
    ['two MAX', { logical_disks: [root, { ...data, size_gb: 'MAX' }] }, /size_gb may be "MAX" for one/],
    ['first level', { logical_disks: [{ ...root, raid_level: '0' }] }, /first software RAID volume must be of level 1/],
    [
      'mixed',
      { logical_disks: [root, { ...data, controller: 'x' }] },
      /logical_disks\[1\].controller must be "software"/,
    ],
    ['no md level', { logical_disks: [root, { ...data, raid_level: '5+0' }] }, /5\+0 is not a software RAID level/],
    [
      'too few disks',
      { logical_disks: [root, { ...data, physical_disks: hints(2) }] },
      /logical_disks\[1\].physical_disks has 2 disks, level 5 needs 3/,
    ],
    [
      'same name',
      {
        logical_disks: [
          { ...root, volume_name: 'a' },
          { ...data, volume_name: 'a' },
        ],
      },
      /volume_name "a" is used more than once/,
    ],
    ['name', { logical_disks: [{ ...root, volume_name: 'a/b' }] }, /volume_name "a\/b" must be/],
    ['reserved name', { logical_disks: [{ ...root, volume_name: 'esp' }] }, /and not "esp"/],
    ['size 0', { logical_disks: [{ ...root, size_gb: 0 }] }, /size_gb must be above 0/],
  ])('%s', (_name, value, text) => {
    expect(() => parseTargetRaidConfig(value)).toThrow(text);
  });

  test('all faults at once', () => {
    expect(() => parse({ ...root, raid_level: '0', volume_name: 'esp' }, { ...data, size_gb: 'MAX' })).toThrow(
      /may be "MAX".*level 1.*not "esp"/,
    );
  });
});

test('what a node may hold', () => {
  expect(hasSoftwareRaid({ logical_disks: [root] })).toBe(true);
  for (const value of [{}, null, 'x', { logical_disks: 'x' }, { logical_disks: [null, { controller: 'x' }] }]) {
    expect(hasSoftwareRaid(value)).toBe(false);
  }
});
