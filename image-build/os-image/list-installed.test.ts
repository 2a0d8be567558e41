import { expect, test } from 'vitest';
import { parseDpkgStatus } from '#image-build/os-image/list-installed.ts';

test('lists installed packages with versions, not removed ones', () => {
  const status = `Package: mdadm
Status: install ok installed
Version: 4.2-5

Package: gone
Status: deinstall ok config-files
Version: 1

Package: udev
Status: install ok installed
Description: device manager
 Version: not a field
Version: 252.39-1~deb12u2
`;
  expect(parseDpkgStatus(status)).toEqual(['mdadm=4.2-5', 'udev=252.39-1~deb12u2']);
});
