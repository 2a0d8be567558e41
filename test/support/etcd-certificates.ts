import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';

export interface EtcdCertificates {
  readonly caFile: string;
  /** Certificate of all members, towards clients and each other. */
  readonly certFile: string;
  readonly keyFile: string;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/**
 * A new authority, a certificate for members at these addresses, and two for clients: as sets of TLS files (`ca.crt`,
 * `client.crt`, `client.key`) in `directory/name`, and with a CommonName in `directory/name-named`.
 */
export async function makeEtcdCertificates(
  directory: string,
  name: string,
  addresses: readonly string[],
): Promise<EtcdCertificates> {
  const set = join(directory, name);
  const named = join(directory, `${name}-named`);
  for (const each of [set, named]) await mkdir(each, { recursive: true });
  const caFile = join(set, 'ca.crt');
  const caKey = join(directory, `${name}-ca.key`);
  await run('openssl', [
    'req',
    '-x509',
    '-days',
    '1',
    ...newKey,
    '-keyout',
    caKey,
    '-out',
    caFile,
    '-subj',
    `/CN=${name} CA`,
  ]);
  const issue = async (base: string, subject: string, extensions: string): Promise<void> => {
    const extensionsFile = `${base}.ext`;
    await writeFile(extensionsFile, extensions);
    const request = ['req', ...newKey, '-keyout', `${base}.key`, '-subj', subject];
    const { stdout } = await run('openssl', request);
    const sign = [
      'x509',
      '-req',
      '-days',
      '1',
      '-CA',
      caFile,
      '-CAkey',
      caKey,
      '-CAcreateserial',
      '-extfile',
      extensionsFile,
    ];
    await run('openssl', [...sign, '-out', `${base}.crt`], { input: stdout });
    await chmod(`${base}.key`, 0o600);
  };
  const member = join(directory, `${name}-member`);
  // the gateway within etcd is a client of its own member, with that member's certificate
  const usage = 'extendedKeyUsage=serverAuth,clientAuth';
  await issue(member, '/CN=member', `${usage}\nsubjectAltName=${addresses.map((each) => `IP:${each}`).join(',')}\n`);
  await issue(join(set, 'client'), '/O=baton', 'extendedKeyUsage=clientAuth\n');
  await issue(join(named, 'client'), '/CN=baton', 'extendedKeyUsage=clientAuth\n');
  await copyFile(caFile, join(named, 'ca.crt'));
  return { caFile, certFile: `${member}.crt`, keyFile: `${member}.key` };
}
