import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { bootSecretsFile } from '#shared/wire/agent-calls.ts';

/** Files of the ramdisk that a node's firmware fetches, from `BATON_RAMDISK_DIR`. */
export const ramdiskFiles: readonly string[] = ['vmlinuz', 'initrd.img'];

/** Composes the warning at the start when no node could boot; `undefined` = the files are there. */
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

/**
 * A small initrd with `ipa-…` parameters that must not stand in the kernel's command line, which every console and log
 * shows: an uncompressed cpio archive (`newc`), in whole blocks of 512 bytes. It goes before the ramdisk, as the kernel
 * takes uncompressed archives only at multiples of four bytes, which UEFI kernels don't see to.
 */
export function secretsArchive(parameters: readonly string[]): Buffer {
  const names = bootSecretsFile.slice(1).split('/');
  const folders = names.slice(0, -1).map((_, index) => names.slice(0, index + 1).join('/'));
  const entries = [
    ...folders.map((name) => entry(name, 0o040755, '')),
    entry(names.join('/'), 0o100600, `${parameters.join(' ')}\n`),
    entry('TRAILER!!!', 0, ''),
  ];
  return padded(Buffer.concat(entries), 512);
}

function entry(name: string, mode: number, content: string): Buffer {
  // inode, mode, owner, group, links, time, bytes, four of devices, bytes of the name, check
  const fields = [0, mode, 0, 0, 1, 0, Buffer.byteLength(content), 0, 0, 0, 0, Buffer.byteLength(name) + 1, 0];
  const head = fields.map((field) => field.toString(16).padStart(8, '0')).join('');
  return Buffer.concat([padded(Buffer.from(`070701${head}${name}\0`), 4), padded(Buffer.from(content), 4)]);
}

function padded(bytes: Buffer, multiple: number): Buffer {
  return Buffer.concat([bytes], Math.ceil(bytes.length / multiple) * multiple);
}
