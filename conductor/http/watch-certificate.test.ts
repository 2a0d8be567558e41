import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('a chain ends with the first of its certificates', () => {
  expect(endOfChain(month + day)).toEqual(endOfChain(day));
  expect(endOfChain(month).getTime()).toBeGreaterThan(endOfChain(day).getTime());
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
  expect(await measured()).toBe(endOfChain(day).getTime() / 1000);
  listener(asCertificate(month));
  expect(watch.trouble()).toBeUndefined();
  expect(await measured()).toBe(endOfChain(month).getTime() / 1000);
  expect(warned).toHaveLength(1);
  watch.close();
});
