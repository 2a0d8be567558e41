import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chooseSystemdBootEntry } from '#agent/kexec/systemd-boot.ts';
import { type Loaded, loadFrom, partition, putFile } from '#agent/kexec/testing/probed-disk.ts';
import { readSections } from '#agent/kexec/unified-image.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { assert, property, uint8Array } from '#test/fuzz/fast-check.ts';

let disk = '';
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'baton-disk-'));
  await mkdir(join(disk, 'sys/firmware/efi/efivars'), { recursive: true });
  await put('EFI/systemd/systemd-bootx64.efi', '');
  await put('loader/loader.conf', 'timeout 3\n');
  await putFile(disk, root, 'etc/os-release', '');
});
afterEach(() => rm(disk, { recursive: true }));

const esp = partition(1, 'AB-CD', 'vfat');
const rootUuid = '11111111-0000-4000-8000-000000000001';
const root = partition(2, rootUuid, 'btrfs');
const put = (path: string, content: string | Buffer): Promise<void> => putFile(disk, esp, path, content);
const load = (...more: Parameters<typeof loadFrom>[1]): Promise<Loaded> => loadFrom(disk, [esp, root, ...more]);

/** An entry, with its kernel and initrd beside it. */
async function putEntry(name: string, more = ''): Promise<void> {
  await put(
    `loader/entries/${name}.conf`,
    `title ${name}\nlinux /${name}/linux\ninitrd /${name}/initrd\noptions root=UUID=${rootUuid}\noptions quiet\n${more}`,
  );
  await put(`${name}/linux`, `kernel of ${name}`);
  await put(`${name}/initrd`, name);
}

/** A PE file with these sections, each padded as linkers do. */
function makeUnified(sections: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(sections);
  const head = Buffer.alloc(512);
  head.write('MZ');
  head.writeUInt32LE(64, 0x3c);
  head.write('PE\0\0', 64, 'latin1');
  head.writeUInt16LE(entries.length, 70);
  const parts = entries.map(([name, content], number) => {
    const at = 88 + 40 * number;
    head.write(name, at, 'latin1');
    head.writeUInt32LE(content.length, at + 8);
    head.writeUInt32LE(512, at + 16);
    head.writeUInt32LE(512 + 512 * number, at + 20);
    return Buffer.from(content.padEnd(512, '\0'));
  });
  return Buffer.concat([head, ...parts]);
}

const unified = {
  '.osrel': 'ID=debian\nPRETTY_NAME="Debian 13"\n',
  '.cmdline': `root=UUID=${rootUuid} rw\n\0`,
  '.linux': 'the kernel',
  '.initrd': 'initrd',
  '.ucode': 'micro',
};

test('the first entry in the order of systemd-boot: kernel, initrd and command line', async () => {
  await putEntry('debian-6.1.0-9');
  await putEntry('debian-6.1.0-18');
  expect(await load()).toEqual({
    args: ['-s', '-l', 'kernel', '--initrd=initrd', `--command-line=root=UUID=${rootUuid} quiet panic=30`],
    kernel: 'kernel of debian-6.1.0-18',
    initrd: 'debian-6.1.0-18\0',
  });
  // those with a sort-key come before
  await putEntry('old', 'sort-key debian\nversion 6.1.0-9\n');
  await putEntry('new', 'sort-key debian\nversion 6.1.0-18\n');
  expect(await load()).toMatchObject({ kernel: 'kernel of new' });
  await put('loader/loader.conf', 'default debian-*-9.conf\n');
  expect(await load()).toMatchObject({ kernel: 'kernel of debian-6.1.0-9' });
});

test('entries may be on a partition of their own', async () => {
  await putEntry('a');
  const extended = partition(3, 'EF-01', 'vfat');
  await putFile(disk, extended, 'loader/entries/b.conf', 'sort-key b\nlinux /k\noptions ro');
  await putFile(disk, extended, 'k', 'the other kernel');
  await put('loader/loader.conf', 'default b.conf\n');
  expect(await load(extended)).toMatchObject({ kernel: 'the other kernel', initrd: '' });
});

test('two loader.conf that name different defaults: which one counts is not known', async () => {
  await putEntry('a');
  const other = partition(3, 'EF-01', 'vfat');
  await put('loader/loader.conf', 'default a.conf\n');
  await putFile(disk, other, 'loader/loader.conf', 'default b.conf\n');
  await expect(load(other)).rejects.toThrow('there are several loader.conf, which name different defaults');
  await putFile(disk, other, 'loader/loader.conf', 'default a.conf\n');
  expect(await load(other)).toMatchObject({ kernel: 'kernel of a' });
});

test('a unified kernel image: its sections, microcode first', async () => {
  await put('EFI/Linux/debian.efi', makeUnified(unified));
  expect(await load()).toEqual({
    args: ['-s', '-l', 'kernel', '--initrd=initrd', `--command-line=root=UUID=${rootUuid} rw panic=30`],
    kernel: 'the kernel',
    initrd: 'micro\0\0\0initrd\0\0',
  });
});

describe('refused', () => {
  test.each<[string, () => Promise<void>, RegExp]>([
    ['without systemd-boot', () => rm(join(disk, 'vda1/EFI/systemd'), { recursive: true }), /but no systemd-boot/],
    ['under BIOS', () => rm(join(disk, 'sys/firmware'), { recursive: true }), /is started by UEFI alone/],
    ['beside GRUB', () => put('grub/grub.cfg', 'menuentry a {\nlinux /k\n}'), /a grub.cfg and entries of systemd-boot/],
    [
      'where a variable chooses',
      () => writeFile(join(disk, 'sys/firmware/efi/efivars/LoaderEntryDefault-4a67b082'), ''),
      /variable LoaderEntryDefault-4a67b082 chooses/,
    ],
    ['where boots are counted', () => putEntry('b+3'), /boots of b\+3\.conf are counted/],
    [
      'where one is preferred',
      () => put('loader/loader.conf', 'preferred b*\ndefault a*'),
      /preferred b\* in loader\.conf/,
    ],
    ['where the last one is kept', () => put('loader/loader.conf', 'default @saved'), /default @saved/],
    [
      'with an entry that is not a kernel',
      () => put('loader/entries/b.conf', 'efi /shell.efi'),
      /b\.conf starts no kernel/,
    ],
    ['with a device tree', () => putEntry('z', 'devicetree /dtb'), /devicetree in z\.conf/],
    ['with unified images beside', () => put('EFI/Linux/a.efi', makeUnified(unified)), /which of a\.conf, a\.efi/],
  ])('%s', async (_how, change, message) => {
    await putEntry('a');
    await change();
    await expect(load()).rejects.toThrow(message);
  });

  test.each<[string, Record<string, string> | Buffer, RegExp]>([
    ['no PE file', Buffer.from('MZ'), /it is not a PE file/],
    ['no kernel', { '.cmdline': '' }, /it has no section \.linux/],
    ['two kernels', { ...unified, '.linux\0x': 'k' }, /several sections \.linux/],
    ['profiles', { ...unified, '.profile': 'x' }, /section \.profile is not supported/],
    ['an end that is missing', makeUnified(unified).subarray(0, -510), /section \.ucode is cut short/],
  ])('a unified image with %s', async (_what, content, message) => {
    await put('EFI/Linux/a.efi', Buffer.isBuffer(content) ? content : makeUnified(content));
    await expect(load()).rejects.toThrow(message);
  });

  test('one with add-ons', async () => {
    await put('EFI/Linux/a.efi', makeUnified(unified));
    await put('EFI/Linux/a.efi.extra.d/b.addon.efi', '');
    await expect(load()).rejects.toThrow('a.efi has add-ons');
  });
});

/** Where its last section ends; 0 when it is refused. */
function endsIn(head: Buffer): number {
  try {
    return Math.max(...[...readSections(head, 1000).values()].map(({ offset, length }) => offset + length));
  } catch (error) {
    if (error instanceof AppError) return 0;
    throw error;
  }
}

test('any bytes are a unified image within their bounds, or refused', () => {
  assert(
    property(uint8Array({ maxLength: 400 }), (tail) => {
      const head = Buffer.concat([makeUnified(unified).subarray(0, 88), tail]);
      expect(endsIn(head)).toBeLessThanOrEqual(1000);
    }),
  );
});

test('a pattern is taken as it is', () => {
  const entries = ['a.b.conf', 'aXb.conf'].map((id) => ({ id, kind: 'entry' as const }));
  expect(chooseSystemdBootEntry(entries, 'a.b.c*', []).id).toBe('a.b.conf');
  expect(chooseSystemdBootEntry(entries, 'A?B.conf', []).id).toBe('a.b.conf');
  expect(chooseSystemdBootEntry(entries, 'none', []).id).toBe('a.b.conf');
  expect(() => chooseSystemdBootEntry(entries, '[ab]*', [])).toThrow('default [ab]* in loader.conf');
});
