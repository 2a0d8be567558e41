import { utimesSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeImage, sweepChunks } from '#conductor/images/image-store.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { noise } from '#test/support/noise.ts';

const longAgo = new Date('2020-01-01T00:00:00Z');
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-image-store-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Adds an image that was removed again, as of years ago. */
async function addUnused(): Promise<readonly string[]> {
  await writeStore(image(), folder, 'unused');
  await removeImage(folder, 'unused');
  const chunks = await chunkPaths();
  for (const path of chunks) await utimes(path, longAgo, longAgo);
  return chunks;
}

const content = noise('content', 1024 * 1024);
async function* image(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(content);
}

async function chunkPaths(): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.includes('.cacnk')).map((name) => join(folder, name));
}

test('a chunk that an add has found while it was about to be removed stays', async () => {
  const chunks = await addUnused();
  let asked = 0;
  const clock = {
    // asked behind each look at a file
    now: () => {
      asked += 1;
      if (asked === 1) for (const path of chunks) utimesSync(path, new Date(), new Date());
      return new Date();
    },
  };
  expect(await sweepChunks(folder, new Set(), clock)).toEqual({ chunks: 0, bytes: 0 });
  expect(await chunkPaths()).toEqual(chunks);
});

test('chunks that a sweep which broke off has set aside are there again, and young', async () => {
  const chunks = await addUnused();
  for (const path of chunks) await rename(path, `${path}.unused`);
  const clock = { now: () => new Date() };
  expect(await sweepChunks(folder, new Set(), clock)).toEqual({ chunks: 0, bytes: 0 });
  expect(await chunkPaths()).toEqual(chunks);
  for (const path of chunks) await utimes(path, longAgo, longAgo);
  expect(await sweepChunks(folder, new Set(), clock)).toMatchObject({ chunks: chunks.length });
  expect(await chunkPaths()).toEqual([]);
});
