import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { listFiles, readSources } from '../house/read-sources.ts';
import { readRecordings } from './read-recordings.ts';

/** Every recording has its parts, and a test of its subject that holds its reading against Baton's. */

/** There may be more. */
const least = { recordings: 430, ofSwitches: 100, switchSystems: 11 };

const root = join(import.meta.dirname, '../..');

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

/** Folders that tests beside the parsers read: `switches`, `images/tables`. */
async function readFolders(): Promise<readonly string[]> {
  const tests = (await readSources(root)).filter(({ path }) => /^(agent|conductor|shared)\/.*\.test\.ts$/.test(path));
  return tests.flatMap(({ text }) =>
    [...text.matchAll(/\breadRecordings\(\s*'([\w/-]+)'/g)].map(([, folder = '']) => folder),
  );
}

test("each recording is read by its subject's test", async () => {
  const folders = await readFolders();
  const files = await listFiles(import.meta.dirname, '.', '.yaml');
  const unread = files.filter((file) => !folders.some((folder) => file.startsWith(`${folder}/`)));
  expect(unread).toEqual([]);
  expect(files.length).toBeGreaterThanOrEqual(least.recordings);
  const ofSwitches = files.filter((file) => /^switch(es|-sessions)\//.test(file));
  expect(ofSwitches.length).toBeGreaterThanOrEqual(least.ofSwitches);
  const systems = new Set(ofSwitches.map((file) => file.split('/')[1]));
  expect(systems.size).toBeGreaterThanOrEqual(least.switchSystems);
});
