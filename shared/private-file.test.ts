import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPrivateFile } from '#shared/private-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-private-'));
});
afterAll(() => rm(folder, { recursive: true }));

const withMode = async (mode: number): Promise<string> => {
  const file = join(folder, `key-${mode.toString(8)}`);
  await writeFile(file, 'text');
  await chmod(file, mode);
  return file;
};

test.each([0o600, 0o400])('mode %o is its owner’s alone', async (mode) => {
  expect(await readPrivateFile(await withMode(mode))).toBe('text');
});

test.each([
  [0o640, /open to others \(mode 0640\): chmod 600 .*key/],
  [0o604, /mode 0604/],
  [0o620, /mode 0620/],
])('mode %o is refused', async (mode, refusal) => {
  await expect(readPrivateFile(await withMode(mode))).rejects.toThrow(refusal);
});
