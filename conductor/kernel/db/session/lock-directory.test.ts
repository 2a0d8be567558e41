import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDirectory } from '#conductor/kernel/db/session/lock-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-lock-'));
});
afterEach(() => rm(directory, { recursive: true }));

test('a second conductor is refused with the first one’s pid, and let in after it', async () => {
  const first = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(`in use by another conductor (process ${process.pid})`);
  await first.release();
  const second = await lockDirectory(directory);
  await second.release();
});
