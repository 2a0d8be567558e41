import { expect, test } from 'vitest';
import { parseNeeded } from '#image-build/ramdisk/library-closure.ts';

test('reads the needed libraries of several files from readelf, each once', () => {
  const recorded = `
File: tree/usr/sbin/nvme

Dynamic section at offset 0xe1d38 contains 30 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libnvme.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000c (INIT)               0x5000

File: tree/usr/lib/udev/ata_id
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
`;
  expect(parseNeeded(recorded)).toEqual(['libnvme.so.1', 'libc.so.6', 'ld-linux-x86-64.so.2']);
});
