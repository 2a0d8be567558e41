import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileDigest, sourceHash } from '#image-build/files.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-hash-'));
});
afterEach(() => rm(directory, { recursive: true }));

test('size and SHA-256 of a file', async () => {
  await writeFile(join(directory, 'a'), 'abc');
  expect(await fileDigest(join(directory, 'a'))).toEqual({
    size: 3,
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  });
});

test('the source hash sees names and contents at any depth, but no tests and documents', async () => {
  await mkdir(join(directory, 'deep'));
  await writeFile(join(directory, 'deep/recipe.ts'), 'one');
  const before = await sourceHash(directory);
  await writeFile(join(directory, 'deep/recipe.test.ts'), 'test');
  await writeFile(join(directory, 'README.md'), 'words');
  expect(await sourceHash(directory)).toBe(before);
  await writeFile(join(directory, 'deep/recipe.ts'), 'two');
  expect(await sourceHash(directory)).not.toBe(before);
});

test('the source hash sees modes and link targets', async () => {
  const script = join(directory, 'script');
  const link = join(directory, 'link');
  await writeFile(script, 'x', { mode: 0o755 });
  await symlink('script', link);
  const seen = [await sourceHash(directory)];
  await chmod(script, 0o644);
  seen.push(await sourceHash(directory));
  await rm(link);
  await symlink('elsewhere', link);
  seen.push(await sourceHash(directory));
  expect(new Set(seen).size).toBe(3);
});
