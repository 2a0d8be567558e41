import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareGrub, writeBiosGrub } from '#agent/boot/ramdisk-grub.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-grub-'));
});
afterAll(() => rm(folder, { recursive: true }));

const nothing: Run = () => Promise.reject(new AppError('command_failed', 'nothing to run'));
const wholeDisk = { platform: 'i386-pc', configure: false } as const;

test('a configuration that GRUB would not find, as with a boot partition of its own, or not understand', async () => {
  const root = { folder, uuid: 'u' };
  await expect(prepareGrub(nothing, root, wholeDisk)).rejects.toThrow('the image has no /boot');
  await mkdir(join(folder, 'boot/grub2'), { recursive: true });
  await expect(prepareGrub(nothing, root, wholeDisk)).rejects.toThrow('has no /boot/grub2/grub.cfg');
  await writeFile(join(folder, 'boot/grub2/grub.cfg'), 'set timeout=1\n  blscfg\n');
  await expect(prepareGrub(nothing, root, wholeDisk)).rejects.toThrow('needs the command blscfg');
  await mkdir(join(folder, 'boot/grub'));
  await expect(prepareGrub(nothing, root, wholeDisk)).rejects.toThrow('has no /boot/grub/grub.cfg');
});

test('a disk without room for the core is named', async () => {
  const table = {
    partitiontable: {
      sectorsize: 512,
      label: 'gpt',
      partitions: [{ node: '/dev/vda1', start: 2048, size: 9, type: 'x' }],
    },
  };
  const sfdisk: Run = async () => ({ stdout: JSON.stringify(table), stderr: '', exitCode: 0, durationMs: 1 });
  await expect(writeBiosGrub(sfdisk, '/dev/vda', Buffer.alloc(1))).rejects.toThrow(
    "/dev/vda has no BIOS boot partition, where GRUB's core would go",
  );
});
