import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { readPrivateFile } from '#conductor/kernel/private-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What one side of mutual TLS needs, as PEM. */
export interface EtcdTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * A set of files by its name, read again for each use: they are renewed while the conductor runs.
 * @throws AppError `invalid_argument` naming the file that can't be used; never what stands in it.
 */
export async function readEtcdTls(directory: string, name: string): Promise<EtcdTls> {
  const set = join(directory, name);
  const unreadable =
    (file: string) =>
    (cause: unknown): never => {
      throw new AppError('invalid_argument', `read ${file} for TLS with etcd (BATON_ETCD_TLS_DIR)`, { cause });
    };
  const [caFile, certFile, keyFile] = ['ca.crt', 'client.crt', 'client.key'].map((file) => join(set, file)) as [
    string,
    string,
    string,
  ];
  const tls = {
    ca: await readFile(caFile, 'utf8').catch(unreadable(caFile)),
    cert: await readFile(certFile, 'utf8').catch(unreadable(certFile)),
    key: await readPrivateFile(keyFile).catch(unreadable(keyFile)),
  };
  // else an empty file would mean: whom the system trusts
  if (!tls.ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new AppError('invalid_argument', `${caFile} has no certificate in PEM`);
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw new AppError('invalid_argument', `${certFile} and ${keyFile} are not a matching pair in PEM`, { cause });
  }
  return tls;
}
