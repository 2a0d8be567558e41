import { expect, test } from 'vitest';
import { partitionOf } from '#agent/kexec/find-boot-choice.ts';
import { partition } from '#agent/kexec/testing/probed-disk.ts';

const partitions = [
  partition(1, 'AB-CD', 'vfat', 'EFI'),
  partition(2, 'Two', 'ext4', 'BOOT'),
  partition(3, 'three', 'ext4', 'twice'),
  partition(4, 'four', 'ext4', 'twice'),
];
const find = (device: string | undefined) => partitionOf(device, partitions, partition(9, 'configuration')).name;

test.each([
  ['UUID=two', '/dev/vda2'],
  ['UUID=ab-cd', '/dev/vda1'],
  ['LABEL=BOOT', '/dev/vda2'],
  ['LABEL=EFI', '/dev/vda1'],
  ['hd0,gpt3', '/dev/vda3'],
  ['hd0,msdos1', '/dev/vda1'],
  ['hd0,4', '/dev/vda4'],
  [undefined, '/dev/vda9'],
])('%s is %s', (device, name) => {
  expect(find(device)).toBe(name);
});

test.each([
  ['LABEL=boot', 'not a partition'],
  ['UUID=five', 'not a partition'],
  ['hd0,gpt5', 'not a partition'],
  ['hd1,gpt2', 'not a partition'],
  ['LABEL=twice', 'more than one partition'],
])('%s is not known: it is %s of the written disk', (device, what) => {
  expect(() => find(device)).toThrow(`${device} is ${what} of the written disk`);
});
