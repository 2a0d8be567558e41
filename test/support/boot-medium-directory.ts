import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parametersBytes, secretsBytes } from '#shared/wire/boot-medium.ts';

/** A ramdisk and the boot medium made of it, whose parts are told apart by their text. */
export const mediumParts = {
  head: 'head '.repeat(1000),
  kernel: 'kernel '.repeat(1000),
  between: 'between '.repeat(20),
  ramdisk: 'ramdisk '.repeat(9000),
} as const;

/** A directory for `BATON_RAMDISK_DIR`, which the test removes. */
export async function makeBootMediumDirectory(): Promise<string> {
  const { head, kernel, between, ramdisk } = mediumParts;
  const directory = await mkdtemp(join(tmpdir(), 'baton-boot-medium-'));
  const place = '#'.repeat(parametersBytes + secretsBytes);
  const layout = {
    size: head.length + place.length + kernel.length + between.length + ramdisk.length,
    parameters: head.length,
    secrets: head.length + parametersBytes,
    files: [
      { name: 'vmlinuz', offset: head.length + place.length, bytes: kernel.length },
      {
        name: 'initrd.img',
        offset: head.length + place.length + kernel.length + between.length,
        bytes: ramdisk.length,
      },
    ],
  };
  await writeFile(join(directory, 'vmlinuz'), kernel);
  await writeFile(join(directory, 'initrd.img'), ramdisk);
  await writeFile(join(directory, 'boot-medium.bin'), head + place + between);
  await writeFile(join(directory, 'boot-medium.json'), JSON.stringify(layout));
  return directory;
}
