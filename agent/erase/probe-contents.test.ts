import { expect, test } from 'vitest';
import { probeContents, readContents, requireNoSharedFileSystems } from '#agent/erase/probe-contents.ts';
import { readContents as readDiskContents } from '#agent/hardware/inventory-contents.ts';
import { surveyStorage } from '#agent/storage/storage-claims.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** `blkid --probe --output export` of a partition; each of the others differs in a line. */
const ext4 = `DEVNAME=/dev/sda1
LABEL=my\\ data
UUID=2f1ee4a2-5d33-4b4c-a1f4-2b5cf1f6c0c3
TYPE=ext4
USAGE=filesystem
PART_ENTRY_SCHEME=gpt
PART_ENTRY_TYPE=0FC63DAF-8483-4772-8e79-3d69d8477de4
`;

test('signatures that contradict each other are all looked at: blkid alone says nothing of them', async () => {
  const wipefs = JSON.stringify({ signatures: [{ type: 'ext4' }, { type: 'gfs2' }] });
  const run: Run = (command) =>
    Promise.resolve(command === 'blkid' ? { ...ranWell(''), exitCode: 8 } : ranWell(wipefs));
  const contents = await probeContents(run, [testDevice({ name: '/dev/sda' })]);
  expect(contents.map(({ type }) => type)).toEqual([null, 'ext4', 'gfs2']);
  expect(() => requireNoSharedFileSystems(contents)).toThrow('/dev/sda holds GFS2');
  await expect(
    surveyStorage(run, [testDevice({ name: '/dev/sda' })], () => Promise.resolve(Buffer.alloc(512))),
  ).rejects.toThrow('/dev/sda has signatures that contradict each other (ext4, gfs2)');
  const machine = { run, devices: [], log: silentLog };
  expect(await readDiskContents(testDevice({ name: '/dev/sda' }), machine)).toMatchObject([{ type: 'ext4 or gfs2' }]);
});

test('reads type, label and partition type', () => {
  expect(readContents('/dev/sda1', ext4)).toEqual({
    device: '/dev/sda1',
    type: 'ext4',
    label: 'my data',
    partitionType: '0fc63daf-8483-4772-8e79-3d69d8477de4',
  });
  expect(readContents('/dev/sda', '')).toEqual({ device: '/dev/sda', type: null, label: null, partitionType: null });
});

test.each([
  ['GPFS', 'PART_ENTRY_TYPE=37affc90-ef7d-4e96-91c3-2d7ae055b174'],
  ['VMFS', 'TYPE=VMFS_volume_member'],
  ['VMFS', 'TYPE=VMFS'],
  ['VMFS', 'PART_ENTRY_TYPE=aa31e02a-400f-11db-9590-000c2911d1b8'],
  ['VMFS', 'PART_ENTRY_TYPE=0xfb'],
  ['GFS2', 'TYPE=gfs2'],
])('%s is refused by %s', (name, line) => {
  expect(() => requireNoSharedFileSystems([readContents('/dev/sdb1', line)])).toThrow(
    new RegExp(`^/dev/sdb1 holds ${name}: .*driver_info.wipe_special_filesystems`),
  );
});

test('others are not', () => {
  expect(() => requireNoSharedFileSystems([readContents('/dev/sda1', ext4)])).not.toThrow();
});
