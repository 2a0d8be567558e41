import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findLoaders, parseLoaderCsv } from '#agent/boot/find-loaders.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('findLoaders', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'baton-esp-'));
  });
  afterEach(() => rm(root, { recursive: true }));
  const put = async (file: string, content: string | Buffer = ''): Promise<void> => {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), content);
  };

  test('a CSV file wins outright', async () => {
    await put('EFI/BOOT/BOOTX64.EFI');
    await put('EFI/debian/shimx64.efi');
    await put('EFI/debian/BOOTX64.CSV', utf16('shimx64.efi,debian,,This is the boot entry for debian\n'));
    expect(await findLoaders(root)).toEqual([{ path: '\\EFI\\debian\\shimx64.efi', label: 'debian' }]);
  });

  test('a CSV file that names a missing loader does not', async () => {
    await put('EFI/BOOT/BOOTX64.EFI');
    await put('EFI/debian/BOOTX64.CSV', utf16('shimx64.efi,debian\n'));
    expect(await findLoaders(root)).toEqual([{ path: '\\EFI\\BOOT\\BOOTX64.EFI', label: 'ironic1' }]);
  });

  test('else all that are known, the removable path first', async () => {
    await put('EFI/Microsoft/Boot/winload.efi');
    await put('EFI/BOOT/BOOTX64.EFI');
    await put('EFI/debian/grubx64.efi');
    expect(await findLoaders(root)).toEqual([
      { path: '\\EFI\\BOOT\\BOOTX64.EFI', label: 'ironic1' },
      { path: '\\EFI\\Microsoft\\Boot\\winload.efi', label: 'ironic2' },
    ]);
  });

  test('nothing to boot', async () => {
    await put('EFI/readme.txt');
    await expect(findLoaders(root)).rejects.toThrow(/has no loader \(looked for bootx64.efi/);
  });
});

test('CSV files in UTF-16 with or without mark, and in ASCII', () => {
  const loader = { path: '\\EFI\\a\\b.efi', label: 'A b' };
  expect(parseLoaderCsv(utf16('b.efi,A b,,\r\n'), 'EFI/a')).toEqual(loader);
  expect(parseLoaderCsv(Buffer.from('b.efi,A b,,\n', 'utf16le'), 'EFI/a')).toEqual(loader);
  expect(parseLoaderCsv(Buffer.from('b.efi,A b\n'), 'EFI/a')).toEqual(loader);
  expect(parseLoaderCsv(Buffer.from(''), 'EFI/a')).toBeUndefined();
});
