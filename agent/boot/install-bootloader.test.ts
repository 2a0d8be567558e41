import { describe, expect, test } from 'vitest';
import type { NewBootEntry } from '#agent/boot/efibootmgr.ts';
import { composeEntries, installBootloader } from '#agent/boot/install-bootloader.ts';
import { findEsps } from '#agent/boot/spread-esp.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

describe('findEsps', () => {
  const partition = {
    name: '/dev/vda1',
    number: 1,
    sizeBytes: 1,
    fsType: 'vfat',
    fsLabel: null,
    fsUuid: null,
    partLabel: null,
  };

  test('by type, in a GPT and in an MBR', () => {
    for (const partType of ['c12a7328-f81f-11d2-ba4b-00a0c93ec93b', '0xef']) {
      expect(
        findEsps('/dev/vda', [
          { ...partition, partType: '0x83' },
          { ...partition, partType },
        ]).map((found) => found.partType),
      ).toEqual([partType]);
    }
  });

  test('all of several', () => {
    const two = [1, 2].map((number) => ({ ...partition, number, partType: '0xef' }));
    expect(findEsps('/dev/vda', two)).toEqual(two);
  });

  test('none', () => {
    expect(() => findEsps('/dev/vda', [{ ...partition, partType: '0x83' }])).toThrow(
      'disk /dev/vda has no EFI system partition: it has /dev/vda1 (type 0x83)',
    );
  });
});

test('loaders of several EFI system partitions are tried one after the other, on an array each by every disk', () => {
  const loaders = ['shim', 'grub'].map((label) => ({ label, path: `\\EFI\\${label}.efi` }));
  const on = (...places: readonly [device: string, partition: number, suffix: string][]) => ({
    loaders,
    places: places.map(([device, partition, suffix]) => ({ device, partition, suffix })),
  });
  const show = ({ device, partition, label }: NewBootEntry): string => `${device} ${partition} ${label}`;
  const two = composeEntries([on(['/dev/vda', 1, '']), on(['/dev/vda', 3, ''])]).map(show);
  expect(two).toEqual(['/dev/vda 1 shim', '/dev/vda 1 grub', '/dev/vda 3 shim', '/dev/vda 3 grub']);
  const spread = composeEntries([on(['/dev/vda', 4, ' a'], ['/dev/vdb', 4, ' b'])]).map(show);
  expect(spread).toEqual(['/dev/vda 4 shim a', '/dev/vdb 4 shim b', '/dev/vda 4 grub a', '/dev/vdb 4 grub b']);
});

describe('installBootloader', () => {
  const context = {
    run: (() => Promise.reject(new AppError('command_failed', 'nothing to run'))) as Run,
    log: silentLog,
    node: { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {} },
    writtenImage: { current: undefined },
  };

  test('a PReP partition is refused', async () => {
    const params = { prep_boot_part_uuid: '6a4b2c1d-0000-4000-8000-000000000000', target_boot_mode: 'uefi' } as const;
    await expect(installBootloader(context, params, () => Promise.resolve([]))).rejects.toThrow(/PReP/);
  });

  test('failures are let pass when the conductor says so', async () => {
    const params = { root_uuid: '6a4b2c1d', target_boot_mode: 'bios', ignore_bootloader_failure: true } as const;
    expect(await installBootloader(context, params, () => Promise.resolve([]))).toEqual([
      expect.stringMatching(/^the boot loader is not installed, which is allowed: .*nothing to run$/),
    ]);
  });
});
