import { expect, test } from 'vitest';
import { parsePackageFile } from '#image-build/ramdisk/finish-tree.ts';

test('name and version come from the name of the package file', () => {
  expect(parsePackageFile('mdadm_4.2-5_amd64.deb')).toBe('mdadm=4.2-5');
  expect(parsePackageFile('busybox-static_1%3a1.35.0-4+b7_amd64.deb')).toBe('busybox-static=1:1.35.0-4+b7');
  expect(parsePackageFile('lock')).toBeUndefined();
});
