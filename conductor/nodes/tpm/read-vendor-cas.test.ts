import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readVendorCas } from '#conductor/nodes/tpm/read-vendor-cas.ts';
import { run } from '#shared/process/run.ts';

test('a CA in several files counts once: each more would double the chains that are followed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-vendors-'));
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '.key'];
    await run('openssl', ['req', '-x509', ...key, '-subj', '/CN=vendor', '-out', 'vendor.pem'], { cwd: directory });
    await run('openssl', ['x509', '-in', 'vendor.pem', '-outform', 'DER', '-out', 'vendor.crt'], { cwd: directory });
    await cp(join(directory, 'vendor.pem'), join(directory, 'again.pem'));
    const authorities = await readVendorCas(directory);
    if (typeof authorities === 'string') throw new Error(authorities);
    expect(authorities.map(({ subject }) => subject)).toEqual(['CN=vendor']);
  } finally {
    await rm(directory, { recursive: true });
  }
});
