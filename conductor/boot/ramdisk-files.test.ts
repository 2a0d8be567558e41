import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ramdiskFiles, ramdiskWarning } from '#conductor/boot/ramdisk-files.ts';

test('names the directory and what it lacks, and what makes it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ramdisk-'));
  try {
    const warning = await ramdiskWarning(directory);
    expect(warning).toContain(`BATON_RAMDISK_DIR: ${directory} has no vmlinuz and no initrd.img`);
    expect(warning).toContain('npm run image');
    await writeFile(join(directory, 'vmlinuz'), '');
    expect(await ramdiskWarning(directory)).toContain('has no initrd.img that');
    for (const name of ramdiskFiles) await writeFile(join(directory, name), '');
    expect(await ramdiskWarning(directory)).toBeUndefined();
  } finally {
    await rm(directory, { recursive: true });
  }
});
