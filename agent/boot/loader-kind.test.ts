import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bootSectorKind, findLoader } from '#agent/boot/loader-kind.ts';

let esp = '';
const shim = Buffer.from('\\grubx64.efi', 'utf16le');
const files: Readonly<Record<string, string | Buffer>> = {
  'EFI/debian/shimx64.efi': shim,
  'EFI/debian/grubx64.efi': `MZ${' '.repeat(70_000)}Welcome to GRUB!`,
  'EFI/BOOT/BOOTX64.EFI': '#### LoaderInfo: systemd-boot 252 ####',
  'EFI/disguised/shimx64.efi': shim,
  'EFI/disguised/grubx64.efi': '#### LoaderInfo: systemd-boot 252 ####',
  'EFI/alone/shimx64.efi': shim,
  'EFI/endless/shimx64.efi': shim,
  'EFI/endless/grubx64.efi': shim,
  'EFI/Linux/debian.efi': 'a unified image',
  'EFI/both/grubx64.efi': 'Welcome to GRUB! LoaderInfo: systemd-boot',
};

beforeAll(async () => {
  esp = await mkdtemp(join(tmpdir(), 'baton-esp-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(esp, path)), { recursive: true });
    await writeFile(join(esp, path), content);
  }
});
afterAll(() => rm(esp, { recursive: true }));

test.each([
  ['debian\\shimx64.efi', 'GRUB'],
  ['debian\\grubx64.efi', 'GRUB'],
  ['BOOT\\BOOTX64.EFI', 'systemd-boot'],
  ['disguised\\shimx64.efi', 'systemd-boot'],
  ['alone\\shimx64.efi', undefined],
  ['endless\\shimx64.efi', undefined],
  ['Linux\\debian.efi', undefined],
  ['both\\grubx64.efi', undefined],
  ['gone\\grubx64.efi', undefined],
])('\\EFI\\%s is %s', async (path, kind) => {
  expect((await findLoader(esp, `\\EFI\\${path}`))?.kind).toBe(kind);
});

test('a boot sector is known by the words that it would print, not by what lies behind them', () => {
  const sector = Buffer.alloc(512);
  expect(bootSectorKind(sector)).toBeUndefined();
  sector.write('GRUB ', 480);
  expect(bootSectorKind(sector)).toBeUndefined();
  sector.write('GRUB \0Geom\0Hard Disk\0Read\0 Error', 384);
  expect(bootSectorKind(sector)).toBe('GRUB');
});
