import { expect, test } from 'vitest';
import { propertiesIn, sparedDisks, withSparedDisks } from '#conductor/nodes/boot/os-disk.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';

const skipped = (serial: string | null, reason: string, wwn: string | null = null) => ({
  device: '/dev/sda',
  serial,
  wwn,
  model: null,
  reason,
});

test('what was preserved, as far as it is known again', () => {
  const preserved = 'local storage is preserved';
  expect(
    sparedDisks([skipped('A', preserved, 'W'), skipped('B', 'it is on the skip list'), skipped(null, preserved)]),
  ).toEqual([{ serial: 'A', wwn: 'W' }]);
});

test('it joins the skip list, in a form that the agent understands', () => {
  const properties = { cpus: 8, skip_block_devices: [{ serial: 'KEEP' }] };
  const node = {
    sparedDisks: [
      { serial: 'A', wwn: 'W' },
      { serial: 'B', wwn: null },
    ],
  };
  const isSkipped = readSkipList(withSparedDisks(properties, node));
  expect(isSkipped(testDisk({ serial: 'KEEP' }))).toBe(true);
  expect(isSkipped(testDisk({ serial: 'a', wwn: 'W' }))).toBe(true);
  expect(isSkipped(testDisk({ serial: 'A', wwn: 'other namespace' }))).toBe(false);
  expect(isSkipped(testDisk({ serial: 'B' }))).toBe(true);
  expect(isSkipped(testDisk({ serial: 'C' }))).toBe(false);
});

test('nothing changes where nothing was preserved, or the list is wrong', () => {
  const properties = { skip_block_devices: 'sda' };
  expect(withSparedDisks(properties, { sparedDisks: null })).toBe(properties);
  expect(withSparedDisks(properties, { sparedDisks: [{ serial: 'A', wwn: null }] })).toBe(properties);
});

test('cleaning goes by it as the deploy does, and a wipe alone does not', () => {
  const node = { properties: { cpus: 8 }, sparedDisks: [{ serial: 'A', wwn: null }] };
  const kinds = ['clean', 'manual_clean', 'deploy', 'service'] as const;
  for (const kind of kinds) expect(propertiesIn(kind, node)).toHaveProperty('skip_block_devices');
  expect(propertiesIn('wipe', node)).toBe(node.properties);
});
