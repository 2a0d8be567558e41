import { expect, test } from 'vitest';
import { parseUsedInodes, planPartitions, sgdiskArguments } from '#image-build/os-image/partitions.ts';

test('partitions are aligned, in order, without overlap, and leave room for the second GPT', () => {
  const layout = planPartitions(1024 ** 3);
  const partitions = [layout.biosBoot, layout.efiSystem, layout.root];
  expect(partitions.map((partition) => partition.first_sector % 2048)).toEqual([0, 0, 0]);
  for (const [index, partition] of partitions.entries()) {
    const next = partitions[index + 1]?.first_sector ?? 1024 ** 3 / 512 - 33;
    expect(partition.first_sector + partition.sectors).toBeLessThanOrEqual(next);
  }
  expect(layout.efiSystem.sectors * 512).toBe(64 * 1024 ** 2);
});

test('a disk too small is refused', () => {
  expect(() => planPartitions(66 * 1024 ** 2)).toThrow(/more than 67 MiB/);
});

test('sgdisk gets every partition with type, name and fixed GUID', () => {
  const args = sgdiskArguments(planPartitions(1024 ** 3), 'demo.raw');
  expect(args).toContain('--new=1:2048:4095');
  expect(args).toContain('--typecode=2:ef00');
  expect(args).toContain('--change-name=3:root');
  expect(args.at(-1)).toBe('demo.raw');
});

test('counts the inodes in use from the superblock as debugfs prints it', () => {
  const recorded =
    'Filesystem state:         clean\nInode count:              61312\nFree inodes:              48211\n';
  expect(parseUsedInodes(recorded)).toBe(13101);
});
