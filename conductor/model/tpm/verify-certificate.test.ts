import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkCertificate } from '#conductor/model/tpm/verify-certificate.ts';
import { run } from '#shared/process/run.ts';

/** Certificates in the form that TPMs' vendors give them (EK Credential Profile 2.5, 3.2), made by OpenSSL. */

let directory: string;

/** TCG's names of a TPM, in a directory name: critical, as the subject is empty. */
const extensions = `
[ek]
basicConstraints = critical,CA:FALSE
subjectAltName = critical,dirName:tpm
keyUsage = critical,keyEncipherment
extendedKeyUsage = 2.23.133.8.1
[tpm]
1.2.23.133.2.1 = id:00001014
2.2.23.133.2.2 = swtpm
3.2.23.133.2.3 = id:20170619
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
`;

const openssl = (...args: string[]) => run('openssl', args, { cwd: directory });

async function certify(name: string, issuer: string, section: 'ek' | 'ca', dates: string[] = ['-days', '1']) {
  await openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`);
  const subject = section === 'ca' ? `/CN=${name}` : '/';
  await openssl('req', '-new', '-key', `${name}.key`, '-subj', subject, '-out', `${name}.csr`);
  const signer = issuer === name ? ['-signkey', `${name}.key`] : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`];
  const by = ['-extfile', 'extensions', '-extensions', section, '-set_serial', '1', ...dates];
  await openssl('x509', '-req', '-in', `${name}.csr`, ...signer, ...by, '-out', `${name}.pem`);
}

const read = async (name: string) => new X509Certificate(await readFile(join(directory, `${name}.pem`)));
const check = async (name: string, authorities: string[] | string | undefined, of = name) =>
  checkCertificate((await read(name)).raw.toString('base64'), (await read(of)).publicKey, {
    authorities: Array.isArray(authorities) ? await Promise.all(authorities.map(read)) : authorities,
    now: new Date(),
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-ek-'));
  await writeFile(join(directory, 'extensions'), extensions);
  await certify('root', 'root', 'ca');
  await certify('vendor', 'root', 'ca');
  await certify('impostor', 'impostor', 'ca');
  await certify('ek', 'vendor', 'ek');
  await certify('sold', 'ek', 'ek');
  await certify('old', 'vendor', 'ek', ['-days', '-1']);
});
afterAll(() => rm(directory, { recursive: true }));

test('a chain to a root that is given is the word of the vendor, whatever its critical names are', async () => {
  expect(await check('ek', ['vendor', 'root'])).toEqual({ state: 'certified', detail: 'CN=root' });
});

test.each([
  ['without the root', 'ek', ['vendor'], 'unknown', 'its issuer is not among the CAs that are given: CN=root'],
  ['without the one between', 'ek', ['root', 'impostor'], 'unknown', 'given: CN=vendor'],
  ['by one that is no CA', 'sold', ['ek', 'vendor', 'root'], 'unknown', 'its issuer is not among the CAs'],
  ['where nothing is given', 'ek', undefined, 'unknown', 'BATON_TPM_CA_DIR'],
  ['where the CAs could not be read', 'ek', 'they burnt', 'unknown', 'they burnt'],
  ['that has expired', 'old', ['vendor', 'root'], 'expired', 'CN=root; until '],
] as const)('a certificate %s', async (_, name, authorities, state, detail) => {
  expect(await check(name, authorities as string[] | string | undefined)).toEqual({
    state,
    detail: expect.stringContaining(detail),
  });
});

test('a name alone makes no CA: the signature counts', async () => {
  await certify('vendor2', 'vendor2', 'ca');
  await openssl('req', '-new', '-key', 'vendor2.key', '-subj', '/CN=vendor', '-out', 'fake.csr');
  const by = ['-extfile', 'extensions', '-extensions', 'ca', '-signkey', 'vendor2.key', '-days', '1'];
  await openssl('x509', '-req', '-in', 'fake.csr', ...by, '-out', 'fake.pem');
  expect(await check('ek', ['fake', 'root'])).toMatchObject({ state: 'unknown' });
});

test('a certificate of another key, none, and what is no certificate', async () => {
  expect(await check('ek', ['vendor', 'root'], 'old')).toMatchObject({ state: 'wrong' });
  const { publicKey } = await read('ek');
  const checked = (certificate: string | null) =>
    checkCertificate(certificate, publicKey, { authorities: [], now: new Date() });
  expect(checked(null)).toMatchObject({ state: 'none' });
  expect(checked('AAAA')).toMatchObject({ state: 'unknown', detail: 'its certificate is no X.509 certificate' });
});
