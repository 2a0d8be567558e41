import { describe, expect, test } from 'vitest';
import { findVolume, isRaidOnly, isTableAsPlanned, matchRaid } from '#agent/raid/match-raid.ts';
import { planRaid } from '#agent/raid/plan-raid.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';
import type { DiskTable, FoundTable, TablePartition } from '#agent/storage/sfdisk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const disks = ['/dev/vda', '/dev/vdb'].map((name) => testDevice({ name }));
const config = { logical_disks: [{ size_gb: 'MAX' as const, raid_level: '1' as const, controller: 'software' }] };
const plan = planRaid(config, disks, { bootMode: 'uefi' });
const planned = plan.disks[0]?.table as DiskTable;
const array: MdArray = {
  device: '/dev/md0',
  active: true,
  level: 'raid1',
  members: ['/dev/vda1', '/dev/vdb1'],
  size: 2,
  working: 2,
  uuid: '3aaa0122:29827cfa:5331ad66:ca767371',
  name: 'md0',
  metadata: '1.2',
};
const tables = (table: FoundTable = planned) => new Map(disks.map(({ name }) => [name, table]));
const partition = (type: string): TablePartition => ({
  number: 2,
  startBytes: 1024 ** 2,
  sizeBytes: 1,
  type,
  name: 'x',
});
const esp = partition('c12a7328-f81f-11d2-ba4b-00a0c93ec93b');
const linux = partition('0fc63daf-8483-4772-8e79-3d69d8477de4');

describe('the whole set', () => {
  test('as planned', () => {
    expect(matchRaid(plan, tables(), [array])).toEqual([array]);
  });

  test("boot loaders' partitions don't count", () => {
    expect(matchRaid(plan, tables({ ...planned, partitions: [...planned.partitions, esp] }), [array])).toEqual([array]);
  });

  test.each<[string, ReturnType<typeof tables>, Partial<MdArray>]>([
    ['another level', tables(), { level: 'raid10' }],
    ['another name', tables(), { name: 'root' }],
    ['a member missing', tables(), { working: 1 }],
    ['other members', tables(), { members: ['/dev/vda1', '/dev/vdc1'] }],
    ['not started', tables(), { active: false }],
    ['no table', tables({ label: 'none' }), {}],
    ['a table of another maker', tables({ label: 'unknown', is: 'sun' }), {}],
    ['a table that was not read', new Map(), {}],
    ['another kind of table', tables({ ...planned, label: 'msdos' }), {}],
    ['a partition of somebody', tables({ ...planned, partitions: [...planned.partitions, linux] }), {}],
    ['a partition missing', tables({ ...planned, partitions: [] }), {}],
  ])('%s', (_name, found, fields) => {
    expect(matchRaid(plan, found, [{ ...array, ...fields }])).toBeUndefined();
  });
});

test('level 1+0 is 10 to md', () => {
  const volume = { index: 0, name: 'md0', level: '1+0', members: array.members } as const;
  expect(findVolume(volume, [array])).toBeUndefined();
  expect(findVolume(volume, [{ ...array, level: 'raid10' }])).toBeDefined();
});

test('disks that hold nothing but RAID', () => {
  expect(isRaidOnly(planned)).toBe(true);
  expect(isRaidOnly({ ...planned, partitions: [...planned.partitions, esp] })).toBe(true);
  expect(isRaidOnly({ label: 'msdos', partitions: [partition('fd')] })).toBe(true);
  const others = [{ label: 'none' }, { label: 'unknown', is: 'sun' }] as const;
  for (const table of [undefined, ...others, { ...planned, partitions: [] }, { ...planned, partitions: [esp] }]) {
    expect(isRaidOnly(table)).toBe(false);
  }
  expect(isRaidOnly({ ...planned, partitions: [...planned.partitions, linux] })).toBe(false);
  for (const table of [undefined, ...others]) expect(isTableAsPlanned(planned, table)).toBe(false);
});
