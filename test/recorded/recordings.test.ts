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
  const lacking = recordings.filter(
    ({ outputs, reading }) => Object.keys(outputs).length === 0 || reading === undefined,
  );
  expect(lacking.map(({ name }) => name)).toEqual([]);
});

test('a folder without recordings is a mistake, not none', async () => {
  await expect(readRecordings('../fuzz', z.unknown())).rejects.toThrow('has no recording');
});
