import { expect, test } from 'vitest';
import { parseUsedInodes } from '#image-build/os-image/root-file-system.ts';

test('counts the inodes in use from the superblock as debugfs prints it', () => {
  const recorded =
    'Filesystem state:         clean\nInode count:              61312\nFree inodes:              48211\n';
  expect(parseUsedInodes(recorded)).toBe(13101);
});
