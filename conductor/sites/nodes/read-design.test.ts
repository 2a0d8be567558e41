import { expect, test } from 'vitest';
import { hardwareSteps } from '#conductor/sites/nodes/read-design.ts';

const nothing = { raidConfig: {}, biosSettings: new Map<string, string | null>() };
const targetRaid = { logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software' }] };
const biosSettings = [{ name: 'SysProfile', value: 'Performance' }];
const names = (...given: Parameters<typeof hardwareSteps>) =>
  hardwareSteps(...given).map((step) => `${step.interface}.${step.step}`);

test('nothing is done that nobody asks for', () => {
  expect(names({}, nothing)).toEqual([]);
});

test('BIOS before RAID, and RAID on cleared disks', () => {
  expect(names({ targetRaid, biosSettings }, nothing)).toEqual([
    'bios.apply_configuration',
    'raid.delete_configuration',
    'raid.create_configuration',
  ]);
});

test('only settings that are not so already', () => {
  const known = { ...nothing, biosSettings: new Map([['SysProfile', 'Performance']]) };
  expect(names({ biosSettings }, known)).toEqual([]);
  const more = [...biosSettings, { name: 'Turbo', value: 'On' }];
  expect(hardwareSteps({ biosSettings: more }, known)[0]?.args).toEqual({ settings: [{ name: 'Turbo', value: 'On' }] });
});

test('a RAID that was built as asked for stays, another one does not', () => {
  const built = { logical_disks: [{ size_gb: 99, raid_level: '1', volume_name: '0' }], last_updated: 'x' };
  expect(names({ targetRaid }, { ...nothing, raidConfig: built })).toEqual([]);
  const other = { logical_disks: [{ size_gb: 99, raid_level: '0' }] };
  expect(names({ targetRaid }, { ...nothing, raidConfig: other })).not.toEqual([]);
  const sized = { logical_disks: [{ size_gb: 50, raid_level: '1' }] };
  expect(names({ targetRaid: sized }, { ...nothing, raidConfig: built })).not.toEqual([]);
});
