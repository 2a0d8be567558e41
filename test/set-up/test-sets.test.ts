import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { coreTests } from '#test/set-up/core-tests.ts';
import { testSets } from '#test/set-up/test-sets.ts';

const files = globSync('**/*.test.ts', { exclude: ['**/node_modules/**', 'build/**', '.git/**'] });

test('every file of tests is in one set, and in no other', () => {
  expect(files.length).toBeGreaterThan(400);
  const setsOf = (file: string) =>
    Object.entries(testSets)
      .filter(([, { include }]) => include.some((pattern) => matchesGlob(file, pattern)))
      .filter(([, { exclude = [] }]) => !exclude.some((pattern) => matchesGlob(file, pattern)))
      .map(([name]) => name);
  expect(files.map((file) => ({ file, sets: setsOf(file) })).filter(({ sets }) => sets.length !== 1)).toEqual([]);
});

test('what the core names is there, once, with a reason of its own', () => {
  const named = coreTests.map(({ file }) => `test/${file}`);
  expect(named.filter((file) => !files.includes(file))).toEqual([]);
  expect(new Set(named).size).toBe(named.length);
  expect(named.filter((file) => !/^test\/(system|vm)\//.test(file))).toEqual([]);
  expect(new Set(coreTests.map(({ proves }) => proves)).size).toBe(named.length);
});
