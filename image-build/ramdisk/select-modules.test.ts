import { expect, test } from 'vitest';
import { selectModules } from '#image-build/ramdisk/select-modules.ts';

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
