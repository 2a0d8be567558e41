import { expect, test } from 'vitest';
import { parseNeeded, selectModules } from '#image-build/ramdisk/select-files.ts';

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

const dependencies = `kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko
kernel/fs/mbcache.ko:
kernel/lib/crc16.ko:
kernel/crypto/crc32c_generic.ko:
kernel/drivers/net/ethernet/intel/igb/igb.ko: kernel/drivers/dca/dca.ko
kernel/drivers/net/ethernet/sis/sis900.ko:
kernel/drivers/net/ethernet-other/x.ko:
kernel/drivers/dca/dca.ko:
`;
const soft = '# comment\nsoftdep ext4 pre: crc32c-generic not_there\n';

test('takes files and folders, hard and soft dependencies, and leaves out exceptions', () => {
  const paths = ['fs/ext4/ext4.ko', 'drivers/net/ethernet'];
  expect(selectModules(dependencies, soft, { paths, exceptions: [/\/sis\//] })).toEqual([
    'kernel/crypto/crc32c_generic.ko',
    'kernel/drivers/dca/dca.ko',
    'kernel/drivers/net/ethernet/intel/igb/igb.ko',
    'kernel/fs/ext4/ext4.ko',
    'kernel/fs/mbcache.ko',
    'kernel/lib/crc16.ko',
  ]);
});

test('a dependency is taken even where an exception names it', () => {
  const paths = ['drivers/net/ethernet/intel'];
  expect(selectModules(dependencies, '', { paths, exceptions: [/dca/] })).toContain('kernel/drivers/dca/dca.ko');
});

test('a path that selects nothing is an error that names it', () => {
  expect(() => selectModules(dependencies, soft, { paths: ['fs/gone'], exceptions: [] })).toThrow(/kernel\/fs\/gone/);
});
