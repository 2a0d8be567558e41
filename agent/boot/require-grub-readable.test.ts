import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireGrubReadable, unreadExtFeatures } from '#agent/boot/require-grub-readable.ts';
import { putFiles } from '#agent/boot/testing/esp-tree.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const plain =
  'has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg metadata_csum metadata_csum_seed';
const features = (names: string): string => `Filesystem volume name:   <none>\nFilesystem features:      ${names}\n`;

test('features of ext4 that GRUB does not know', () => {
  expect(unreadExtFeatures(features(plain))).toEqual([]);
  expect(unreadExtFeatures(features(`${plain} inline_data casefold ea_inode bigalloc orphan_file`))).toEqual([
    'inline_data',
    'casefold',
    'ea_inode',
    'bigalloc',
  ]);
  expect(unreadExtFeatures('')).toEqual([]);
});

const root = { name: '/dev/vda2', fsType: 'ext4' };

/** Its root file system has two kernels; `unreadable`: what GRUB fails to compare. */
function machine(unreadable: string, named: string) {
  const compared: string[] = [];
  const run: Run = async (command, args) => {
    if (command === 'mount') {
      const files = ['vmlinuz-6.1', 'vmlinuz-6.2', 'initrd.img-6.2', 'grub2/grub.cfg'];
      await putFiles(args.at(-1) ?? '', Object.fromEntries(files.map((name) => [`boot/${name}`, name])));
    }
    if (command === 'umount')
      for (const name of await readdir(args.at(-1) ?? '')) await rm(join(args.at(-1) ?? '', name), { recursive: true });
    if (command === 'dumpe2fs') return ranWell(features(named));
    if (command !== 'grub-fstest') return ranWell();
    const [, , path = '', file = ''] = args;
    compared.push(`${path} ${await readFile(file, 'utf8')}`);
    if (path.endsWith(unreadable)) throw new AppError('command_failed', 'grub-fstest: error: unknown filesystem.');
    return ranWell();
  };
  return { run, compared };
}

test('configuration, newest kernel and its initrd are read and compared', async () => {
  const { run, compared } = machine('nothing', plain);
  await requireGrubReadable(run, root);
  expect(compared).toEqual([
    '(loop0)/boot/grub2/grub.cfg grub2/grub.cfg',
    '(loop0)/boot/vmlinuz-6.2 vmlinuz-6.2',
    '(loop0)/boot/initrd.img-6.2 initrd.img-6.2',
  ]);
});

test.each([
  [
    'grub.cfg',
    `${plain} inline_data`,
    "can't read /boot/grub2/grub.cfg on /dev/vda2",
    'ext4 .* not know inline_data: ',
  ],
  [
    'vmlinuz-6.2',
    plain,
    "can't read /boot/vmlinuz-6.2 on /dev/vda2",
    'GRUB does not read its ext4 file system, or not all',
  ],
])('an unreadable %s is refused, with what GRUB does not know', async (unreadable, named, file, reason) => {
  await expect(requireGrubReadable(machine(unreadable, named).run, root)).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringMatching(new RegExp(`${file}, so the machine would not boot: .*${reason}`)),
    cause: expect.objectContaining({ message: expect.stringContaining('unknown filesystem') }),
  });
});
