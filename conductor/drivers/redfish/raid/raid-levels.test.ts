import { expect, test } from 'vitest';
import { levelsOf } from '#conductor/drivers/redfish/raid/raid-controllers.ts';

test.each([
  ['one controller', [['RAID0', 'RAID1']], ['0', '1']],
  ['two, of which each counts', [['RAID0'], ['RAID1', 'RAID10']], ['0', '1', '1+0']],
  ['a first one that does not tell', [[], ['RAID1']], ['0', '1', '5', '6', '1+0', '5+0', '6+0']],
  ['none', [], ['0', '1', '5', '6', '1+0', '5+0', '6+0']],
])('levels of %s', (_case, listed, levels) => {
  expect(levelsOf(listed).toSorted()).toEqual(levels.toSorted());
});
