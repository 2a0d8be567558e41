import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TlsCertificate } from '#conductor/http/listen.ts';
import { describeEnd, endOfChain, watchCertificate } from '#conductor/http/watch-certificate.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

let directory = '';
let day = '';
let month = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-end-'));
  [day, month] = [await make('1'), await make('40')];
});
afterAll(() => rm(directory, { recursive: true }));

async function make(days: string): Promise<string> {
  const file = join(directory, `${days}.crt`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(directory, 'key')];
  await run('openssl', ['req', '-x509', '-days', days, ...key, '-out', file, '-subj', '/CN=baton']);
  return readFile(file, 'utf8');
}

/** Has a certificate for that name and public key signed by the one of a day, for two days. */
async function sign(subject: string, publicKey: string): Promise<string> {
  const file = join(directory, 'signed.crt');
  const authority = ['-CA', join(directory, 'ca.crt'), '-CAkey', join(directory, 'ca.key')];
  const own = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=ca'];
  await run('openssl', [
    'req',
    '-x509',
    ...own,
    '-out',
    join(directory, 'ca.crt'),
    '-keyout',
    join(directory, 'ca.key'),
  ]);
  await run('openssl', [
    'x509',
    '-new',
    '-force_pubkey',
    publicKey,
    '-subj',
    subject,
    '-days',
    '2',
    ...authority,
    '-out',
    file,
  ]);
  return readFile(file, 'utf8');
}

async function publicKeyOf(certificate: string | X509Certificate): Promise<string> {
  const { publicKey } = new X509Certificate(certificate.toString());
  const file = join(directory, 'public.key');
  await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }));
  return file;
}

test('a chain ends with the first of its certificates', async () => {
  const [leaf, between] = [await make('90'), await sign('/CN=between', await publicKeyOf(month))];
  expect(endOfChain(leaf + between)).toEqual(endOfChain(between));
  expect(endOfChain(day + between)).toEqual(endOfChain(day));
  expect(endOfChain(month)?.getTime()).toBeGreaterThan(endOfChain(day)?.getTime() ?? Infinity);
});

test('a trusted certificate is one like another; what is none has no known end', async () => {
  const file = join(directory, 'trusted.crt');
  await run('openssl', ['x509', '-in', join(directory, '1.crt'), '-trustout', '-out', file]);
  const trusted = await readFile(file, 'utf8');
  expect(trusted).toContain('BEGIN TRUSTED CERTIFICATE');
  expect(endOfChain(trusted)).toEqual(endOfChain(day));
  for (const none of ['', 'no certificate', day.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAA')]) {
    expect(endOfChain(none)).toBeUndefined();
  }
});

test('an unknown end stops nothing, and is said', async () => {
  const metrics = createMetrics();
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (...words: unknown[]) => void warned.push(words[0]) };
  const tls = {
    current: () => ({ cert: '', key: '', minVersion: 'TLSv1.2' }) as TlsCertificate,
    onChange: () => undefined,
  };
  const clock = { now: () => new Date(), sleep: () => Promise.resolve() };
  const watch = watchCertificate(tls, { log, metrics, clock });
  expect(watch.trouble()).toContain('is not known');
  expect(warned).toEqual([watch.trouble()]);
  expect((await metrics.tlsNotAfter.get()).values[0]?.value).toBeNaN();
  watch.close();
});

test('a root in the chain does not end it: self-signed, or cross-signed for a name and key that are trusted', async () => {
  const leaf = await make('90');
  expect(endOfChain(leaf + day), 'self-signed').toEqual(endOfChain(leaf));
  const root = rootCertificates
    .map((pem) => new X509Certificate(pem))
    .find(({ subject }) => /^C=US\nO=Internet Security Research Group\nCN=ISRG Root X1$/.test(subject));
  if (!root) throw new Error('Node has no ISRG Root X1');
  const key = await publicKeyOf(root);
  const name = '/C=US/O=Internet Security Research Group/CN=ISRG Root X1';
  expect(endOfChain(leaf + (await sign(name, key))), 'cross-signed').toEqual(endOfChain(leaf));
  const between = await sign('/CN=between', key);
  expect(endOfChain(leaf + between), 'an authority between').toEqual(endOfChain(between));
});

test.each([
  ['2026-12-10T12:00:00Z', /expires on 2026-12-10, in 11 days: put a new one into BATON_TLS_CERT_FILE/],
  ['2026-11-30T12:00:00Z', /in 1 day:/],
  ['2026-11-29T00:00:00Z', /the API's certificate expired on 2026-11-29/],
  ['2026-11-01T00:00:00Z', /expired on 2026-11-01/],
])('a certificate that ends at %s', (end, words) => {
  const said = describeEnd(new Date(end), new Date('2026-11-29T00:00:00Z'));
  expect(said).toMatch(words);
});

test('a certificate that ends in 14 days or later is no trouble', () => {
  expect(describeEnd(new Date('2026-12-13T00:00:00Z'), new Date('2026-11-29T00:00:00Z'))).toBeUndefined();
});

test('it is logged, measured and a hint, until another takes its place', async () => {
  const metrics = createMetrics();
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (...words: unknown[]) => void warned.push(words[0]) };
  const now = () => new Date();
  let listener: (certificate: TlsCertificate) => void = () => undefined;
  const asCertificate = (cert: string): TlsCertificate => ({ cert, key: '', minVersion: 'TLSv1.2' });
  const tls = {
    current: () => asCertificate(day),
    onChange: (each: typeof listener) => void (listener = each),
  };
  const watch = watchCertificate(tls, { log, metrics, clock: { now, sleep: () => Promise.resolve() } });
  const measured = async () => (await metrics.tlsNotAfter.get()).values[0]?.value;
  expect(warned).toEqual([expect.stringContaining('in 0 days')]);
  expect(watch.trouble()).toContain('expires on');
  expect(await measured()).toBe((endOfChain(day)?.getTime() ?? 0) / 1000);
  listener(asCertificate(month));
  expect(watch.trouble()).toBeUndefined();
  expect(await measured()).toBe((endOfChain(month)?.getTime() ?? 0) / 1000);
  expect(warned).toHaveLength(1);
  watch.close();
});
