import { join } from 'node:path';
import { run } from '#shared/process/run.ts';

/** A new self-signed certificate for an address, and its key: PEM files in a directory. */
export async function makeCertificate(
  directory: string,
  name: string,
  address = '127.0.0.1',
): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const certFile = join(directory, `${name}.crt`);
  const keyFile = join(directory, `${name}.key`);
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${address}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  await run('openssl', ['req', '-x509', '-days', '1', ...key, '-out', certFile, ...subject]);
  return { certFile, keyFile };
}
