import { expect, test } from 'vitest';
import {
  createArray,
  freeArrayDevice,
  parseDetail,
  parseMdstat,
  readArrays,
  zeroSuperblock,
} from '#agent/storage/mdadm.ts';
import type { Run } from '#shared/process/run.ts';

const mdstat = `Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]
md127 : active (auto-read-only) raid1 vdb2[1] vda2[0]
      562112 blocks super 1.0 [2/2] [UU]

md1 : active raid0 nvme1n1p2[1] nvme0n1p2[0]
      4188160 blocks super 1.2 512k chunks

md0 : active raid1 vdb1[1](F) vda1[0]
      5717888 blocks super 1.2 [2/1] [U_]
      [==>..................]  resync = 13.1% (752640/5717888) finish=0.5min speed=150528K/sec

md5 : inactive sdc1[2](S)
      1046528 blocks super 1.2

unused devices: <none>
`;

test('an array that mdstat names otherwise is not passed over', () => {
  expect(() => parseMdstat('md7 : suspended raid1 vda1[0]\n')).toThrow(
    '/proc/mdstat names a RAID array in a way that is not understood: md7 : suspended raid1 vda1[0]',
  );
});

test('arrays in /proc/mdstat', () => {
  expect(parseMdstat(mdstat)).toEqual([
    {
      device: '/dev/md127',
      active: true,
      level: 'raid1',
      members: ['/dev/vda2', '/dev/vdb2'],
      size: 2,
      working: 2,
    },
    {
      device: '/dev/md1',
      active: true,
      level: 'raid0',
      members: ['/dev/nvme0n1p2', '/dev/nvme1n1p2'],
      size: 2,
      working: 2,
    },
    { device: '/dev/md0', active: true, level: 'raid1', members: ['/dev/vda1', '/dev/vdb1'], size: 2, working: 1 },
    { device: '/dev/md5', active: false, level: null, members: ['/dev/sdc1'], size: 0, working: 0 },
  ]);
});

const detail = `MD_LEVEL=raid1
MD_DEVICES=2
MD_METADATA=1.2
MD_UUID=3aaa0122:29827cfa:5331ad66:ca767371
MD_DEVNAME=root
MD_NAME=any:root
MD_DEVICE_dev_vda1_ROLE=0
MD_DEVICE_dev_vda1_DEV=/dev/vda1
`;

test('identity, without the host before the name', () => {
  const identity = { uuid: '3aaa0122:29827cfa:5331ad66:ca767371', name: 'root', metadata: '1.2' };
  expect(parseDetail(detail)).toEqual(identity);
  expect(parseDetail(detail.replace('any:root', 'root'))).toEqual(identity);
  expect(parseDetail('MD_LEVEL=raid1\n')).toEqual({ uuid: null, name: null, metadata: null });
});

test('both together; no md, no arrays', async () => {
  const answer =
    (mdstatText: string): Run =>
    async (command) => ({
      stdout: command === 'cat' ? mdstatText : detail,
      stderr: '',
      exitCode: 0,
      durationMs: 1,
    });
  const one = 'md0 : active raid1 vda1[0] vdb1[1]\n      100 blocks super 1.2 [2/2] [UU]\n';
  expect(await readArrays(answer(one))).toMatchObject([{ device: '/dev/md0', name: 'root', working: 2 }]);
  expect(await readArrays(answer(''))).toEqual([]);
});

test('the arguments that create an array', async () => {
  const seen: string[] = [];
  const run: Run = async (command, args) => {
    seen.push([command, ...args].join(' '));
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  const members = ['/dev/vda1', '/dev/vdb1'];
  await createArray(run, { device: '/dev/md0', name: 'root', level: '1', metadata: '1.2', members });
  expect(seen).toEqual([
    'mdadm --create /dev/md0 --run --force --metadata=1.2 --level=1 --name=root --homehost=any --raid-devices=2 /dev/vda1 /dev/vdb1',
  ]);
});

test('a superblock that could not be removed is told; one that was never there is not', async () => {
  const answer =
    (examined: string): Run =>
    async (_command, [option]) =>
      option === '--examine'
        ? { stdout: examined, stderr: '', exitCode: examined ? 0 : 1, durationMs: 1 }
        : { stdout: '', stderr: "mdadm: Couldn't open /dev/vda1 for write", exitCode: 2, durationMs: 1 };
  await expect(zeroSuperblock(answer(detail), '/dev/vda1')).rejects.toThrow(
    "remove the RAID superblock of /dev/vda1: mdadm: Couldn't open /dev/vda1 for write",
  );
  await expect(zeroSuperblock(answer(''), '/dev/vda1')).resolves.toBeUndefined();
});

test('free names', () => {
  expect(freeArrayDevice(['/dev/md0', '/dev/md1'])).toBe('/dev/md2');
  expect(freeArrayDevice([], 1)).toBe('/dev/md1');
});
