import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPrivateFile } from '#conductor/auth/private-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-private-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  [0o600, undefined],
  [0o400, undefined],
  [0o640, /open to others \(mode 0640\): chmod 600 .*key/],
  [0o604, /mode 0604/],
  [0o620, /mode 0620/],
])('mode %o', async (mode, refusal) => {
  const file = join(folder, 'key');
  await writeFile(file, 'text');
  await chmod(file, mode);
  if (refusal) await expect(readPrivateFile(file)).rejects.toThrow(refusal);
  else expect(await readPrivateFile(file)).toBe('text');
  await rm(file);
});
