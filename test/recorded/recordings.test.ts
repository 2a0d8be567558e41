import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readRecordings } from './read-recordings.ts';

/** Every recording has its parts; the subjects' own tests hold the readings against Baton's. */

const subjects = (await readdir(import.meta.dirname, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(subjects)('%s: each recording names source, system and reading', async (subject) => {
  const recordings = await readRecordings(subject, z.unknown());
  for (const { name, outputs, reading } of recordings) {
    expect(Object.keys(outputs), name).not.toEqual([]);
    expect(reading, name).not.toBeUndefined();
  }
});

test('a folder without recordings is a mistake, not none', async () => {
  await expect(readRecordings('../fuzz', z.unknown())).rejects.toThrow('has no recording');
});
