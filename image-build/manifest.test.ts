import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isCurrent, type Manifest, readManifest, writeManifest } from '#image-build/manifest.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-manifest-'));
});
afterEach(() => rm(directory, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const manifest: Manifest = {
  input_hash: 'abc',
  inputs: { recipe_sha256: 'r', packages: ['mdadm=4.2-5'] },
  outputs: [{ name: 'vmlinuz', size: 5, sha256: sha256('12345') }],
};

test('is current with the same inputs and the recorded output', async () => {
  await writeFile(join(directory, 'vmlinuz'), '12345');
  await writeManifest(directory, manifest);
  expect(await readManifest(directory)).toEqual(manifest);
  expect(await isCurrent(directory, ['abc'])).toBe(true);
  expect(await isCurrent(directory, ['other', 'abc'])).toBe(true);
  expect(await isCurrent(directory, ['other'])).toBe(false);
});

test('is not current without a manifest, with a missing, a truncated or a changed output', async () => {
  expect(await isCurrent(directory, ['abc'])).toBe(false);
  await writeManifest(directory, manifest);
  expect(await isCurrent(directory, ['abc'])).toBe(false);
  await writeFile(join(directory, 'vmlinuz'), '123');
  expect(await isCurrent(directory, ['abc'])).toBe(false);
  await writeFile(join(directory, 'vmlinuz'), '12354');
  expect(await isCurrent(directory, ['abc'])).toBe(false);
});

test('a manifest that is not ours is an error, not a reason to build', async () => {
  await writeFile(join(directory, 'manifest.json'), '{}');
  await expect(readManifest(directory)).rejects.toThrow(/delete it to build afresh/);
});
