import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

/** What a node's firmware fetches of the ramdisk, from `BATON_RAMDISK_DIR`. */
export const ramdiskFiles: readonly string[] = ['vmlinuz', 'initrd.img'];

/** What to say at the start when no node could boot; `undefined` = the files are there. */
export async function ramdiskWarning(directory: string): Promise<string | undefined> {
  const looks = await Promise.all(
    ramdiskFiles.map((name) =>
      access(join(directory, name), constants.R_OK).then(
        () => [],
        () => [name],
      ),
    ),
  );
  const missing = looks.flat();
  if (missing.length === 0) return undefined;
  return (
    `BATON_RAMDISK_DIR: ${directory} has no ${missing.join(' and no ')} that can be read: nodes can't boot the ramdisk; ` +
    '`npm run image` builds it in build/ramdisk'
  );
}
