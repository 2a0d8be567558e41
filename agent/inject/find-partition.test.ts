import { expect, test } from 'vitest';
import { type ImageTarget, namedPartition } from '#agent/inject/find-partition.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const partition = (number: number, fsLabel: string | null, partLabel: string | null): ProbedPartition => ({
  name: `/dev/nvme0n1p${number}`,
  number,
  sizeBytes: 1,
  fsType: 'ext4',
  fsLabel,
  fsUuid: null,
  partLabel,
  partType: null,
});
const disk: ImageTarget = {
  name: '/dev/nvme0n1',
  partitions: [partition(1, 'EFI', null), partition(3, null, 'root'), partition(12, null, null)],
};
const others = [testDevice({ name: '/dev/sdb', partitions: [{ name: '/dev/sdb1', number: 1, sizeBytes: 1 }] })];

test.each([
  ['3', '/dev/nvme0n1p3'],
  ['12', '/dev/nvme0n1p12'],
  ['EFI', '/dev/nvme0n1p1'],
  ['root', '/dev/nvme0n1p3'],
  ['/dev/sdb1', '/dev/sdb1'],
  ['/dev/sdb', '/dev/sdb'],
])('%s is %s', (wanted, expected) => {
  expect(namedPartition(wanted, disk, others)).toBe(expected);
});

test.each(['2', 'home', '/dev/sdc1', '/dev/null', '/dev/../etc'])('%s is not there', (wanted) => {
  expect(() => namedPartition(wanted, disk, others)).toThrow(
    `no partition ${wanted}: /dev/nvme0n1 has 1 (EFI), 3 (root), 12 (no label)`,
  );
});

test('a label that two partitions have names neither', () => {
  const twice = { ...disk, partitions: [partition(1, 'data', null), partition(2, null, 'data')] };
  expect(() => namedPartition('data', twice, others)).toThrow(
    '/dev/nvme0n1p1 and /dev/nvme0n1p2 are labelled data alike: name the partition by its number',
  );
});
