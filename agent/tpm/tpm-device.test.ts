import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findTpm } from '#agent/tpm/tpm-device.ts';

/** A sysfs with these TPMs: name → major version, `undefined` as kernels before 5.6 have it. */
async function sysfsWith(tpms: Readonly<Record<string, string | undefined>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'baton-sys-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, version] of Object.entries(tpms)) {
    await mkdir(join(root, 'class/tpm', name), { recursive: true });
    if (version !== undefined) await writeFile(join(root, 'class/tpm', name, 'tpm_version_major'), `${version}\n`);
  }
  return root;
}

test('finds the first TPM of version 2', async () => {
  expect(await findTpm(await sysfsWith({ tpm0: '2' }))).toBe('tpm0');
  expect(await findTpm(await sysfsWith({ tpm0: '1', tpm1: '2', tpm2: '2' }))).toBe('tpm1');
});

test.each([
  [{}, 'no TPM 2.0'],
  [{ tpm0: '1' }, 'no TPM 2.0: tpm0 is a TPM 1.2'],
  [{ tpm0: '1', tpm1: undefined }, 'no TPM 2.0: tpm0 is a TPM 1.2, tpm1 has no known version'],
  [{ tpm0: undefined }, 'no TPM 2.0: tpm0 has no known version'],
])('says which other there is: %j', async (tpms, words) => {
  await expect(findTpm(await sysfsWith(tpms))).rejects.toMatchObject({ code: 'not_found', message: words });
});
