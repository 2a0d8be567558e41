import { X509Certificate } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorChain } from '#shared/errors/app-error.ts';

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Reads the CAs in a directory, each file PEM (one or several) or DER, as TPMs' vendors publish them; read again each time,
 * so that a new one needs no restart; one that is there twice counts once. Folders and files whose name begins with a dot are no CAs.
 * @returns the reason as a sentence's end where one can't be read: a chain is never judged by half of them
 */
export async function readVendorCas(directory: string): Promise<readonly X509Certificate[] | string> {
  let name = directory;
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const authorities = new Map<string, X509Certificate>();
    for (const entry of entries) {
      if (entry.isDirectory() || entry.name.startsWith('.')) continue;
      name = join(directory, entry.name);
      const content = await readFile(name);
      const blocks = content.toString('latin1').match(block);
      for (const each of blocks ?? [content]) {
        const authority = new X509Certificate(each);
        authorities.set(authority.fingerprint256, authority);
      }
    }
    return [...authorities.values()];
  } catch (error) {
    return `BATON_TPM_CA_DIR: ${name} can't be read: ${errorChain(error)}`;
  }
}
