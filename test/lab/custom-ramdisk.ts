import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { run } from '#shared/process/run.ts';

/**
 * A ramdisk with steps of one's own, beside the ordinary one; seconds, since only its small second archive is made.
 * @param name below `build/`; each set of directories has its own
 * @param extra directories as `docs/custom-steps.md` describes them
 * @returns the directory, for `ramdiskDirectory`
 */
export async function buildCustomRamdisk(
  name: string,
  extra: readonly string[],
  say: (line: string) => void,
): Promise<string> {
  const output = join('build', name);
  await buildRamdisk({ run, say, force: false, refresh: false }, { output, extra, compression: 'quick' });
  return output;
}

/** Debian's own test key, whose certificate is in the machine's `db` with the lab's own keys; its passphrase is known. */
const snakeoil = '/usr/share/ovmf/PkKek-1-snakeoil';

/** The ordinary ramdisk, whose loader is also signed by the lab's own key: below `build/`. */
export async function buildSignedRamdisk(say: (line: string) => void): Promise<string> {
  const output = join('build', 'ramdisk-signed');
  await mkdir(output, { recursive: true });
  const key = join(output, 'signing.key');
  await run('openssl', ['rsa', '-in', `${snakeoil}.key`, '-passin', 'pass:snakeoil', '-out', key]);
  const signer = { key, certificate: `${snakeoil}.pem` };
  await buildRamdisk({ run, say, force: false, refresh: false }, { output, compression: 'quick', signer });
  return output;
}
