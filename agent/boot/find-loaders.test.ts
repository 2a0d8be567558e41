import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findLoaders, readFirmwareArchitecture } from '#agent/boot/find-loaders.ts';
import { programFor, putDescribed, putFiles } from '#agent/boot/testing/esp-tree.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const program = programFor('x86-64');

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-esp-'));
});
afterEach(() => rm(root, { recursive: true }));

const trees = await readRecordings(
  'boot/esp',
  z.strictObject({
    architecture: z.enum(['x64', 'ia32', 'arm64']),
    hasRemovablePath: z.boolean(),
    loaders: z.array(z.tuple([z.string(), z.string()])),
  }),
);

test.each(trees)('$name: $shows', async ({ outputs, reading }) => {
  for (const [name, text] of Object.entries(outputs)) {
    if (name === 'file EFI') await putDescribed(root, text);
  }
  for (const [name, text] of Object.entries(outputs)) {
    if (name.toLowerCase().endsWith('.csv')) await putFiles(root, { [name]: utf16(text) });
  }
  const found = await findLoaders(root, reading.architecture).catch((error: unknown) => {
    // an empty reading: nothing there is to be started
    if (error instanceof AppError && error.code === 'not_found') return { loaders: [], hasRemovablePath: false };
    throw error;
  });
  expect(found.loaders.map(({ path, label }) => [path, label])).toEqual(reading.loaders);
  expect(found.hasRemovablePath).toBe(reading.hasRemovablePath);
});

describe('findLoaders', () => {
  test('a CSV file wins outright, with every line', async () => {
    await putFiles(root, {
      'EFI/BOOT/BOOTX64.EFI': program,
      'EFI/debian/shimx64.efi': program,
      'EFI/debian/BOOTX64.CSV': utf16(
        'gone.efi,gone,,\nshimx64.efi,debian,,This is the boot entry for debian\nshimx64.efi,image,\\EFI\\Linux\\a.efi ,\n',
      ),
    });
    expect((await findLoaders(root, 'x64')).loaders).toEqual([
      { path: '\\EFI\\debian\\shimx64.efi', label: 'debian' },
      { path: '\\EFI\\debian\\shimx64.efi', label: 'image', loaderData: '\\EFI\\Linux\\a.efi' },
    ]);
  });

  test('one that names a missing loader, or one of another architecture, does not', async () => {
    await putFiles(root, {
      'EFI/BOOT/BOOTX64.EFI': program,
      'EFI/debian/shimaa64.efi': programFor('Aarch64'),
      'EFI/debian/BOOTX64.CSV': utf16('shimx64.efi,debian\nshimaa64.efi,debian\n'),
    });
    expect((await findLoaders(root, 'x64')).loaders).toEqual([{ path: '\\EFI\\BOOT\\BOOTX64.EFI', label: 'ironic1' }]);
  });

  test("MokManager is none, whatever a CSV file's second line says", async () => {
    await putFiles(root, {
      'EFI/BOOT/BOOTX64.CSV': utf16('shimx64.efi,BOOT,,\nmmx64.efi,1,Shim Project,shim,1,shim@example.org\n'),
      'EFI/BOOT/shimx64.efi': program,
      'EFI/BOOT/mmx64.efi': program,
    });
    expect((await findLoaders(root, 'x64')).loaders).toEqual([{ path: '\\EFI\\BOOT\\shimx64.efi', label: 'BOOT' }]);
  });

  test('a file that is cut short or for another machine is no loader, whatever its name', async () => {
    await putFiles(root, {
      'EFI/BOOT/BOOTX64.EFI': '',
      'EFI/rocky/shimx64.efi': programFor('Aarch64'),
      'EFI/rocky/grubx64.efi': program,
    });
    expect((await findLoaders(root, 'x64')).loaders).toEqual([{ path: '\\EFI\\rocky\\grubx64.efi', label: 'ironic1' }]);
  });

  test('nothing to boot: what is there is named', async () => {
    await putFiles(root, { 'EFI/readme.txt': '', 'EFI/BOOT/bootia32.efi': programFor('Intel 80386'), 'a.efi': '' });
    await expect(findLoaders(root, 'x64')).rejects.toThrow(
      /no loader for x64 .*; it has \\EFI\\BOOT\\bootia32.efi \(ia32\), \\a.efi \(no program\)$/,
    );
  });

  test('a CSV file of many lines does not fill the memory of the firmware', async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `grubx64.efi,entry ${index},,\n`);
    await putFiles(root, { 'EFI/a/BOOTX64.CSV': utf16(lines.join('')), 'EFI/a/grubx64.efi': program });
    expect((await findLoaders(root, 'x64')).loaders).toHaveLength(8);
  });
});

test('32-bit firmware on a 64-bit machine', async () => {
  await putFiles(root, { 'firmware/efi/fw_platform_size': '32\n' });
  expect(await readFirmwareArchitecture(root)).toBe(process.arch === 'x64' ? 'ia32' : process.arch);
  await putFiles(root, { 'firmware/efi/fw_platform_size': '64\n' });
  expect(await readFirmwareArchitecture(root)).toBe(process.arch);
});
