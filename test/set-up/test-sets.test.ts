import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { readSources } from '#test/house/read-sources.ts';
import { coreTests } from '#test/set-up/core-tests.ts';
import { witnessPackages } from '#test/set-up/packages.ts';
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

test('npm test starts no program of a package that only npm run test:all installs', async () => {
  const sources = new Map((await readSources('.')).map((source) => [source.path, source]));
  const programs = Object.values(witnessPackages).flat();
  const starts = new RegExp(`\\b(?:run|start)\\w*\\(\\s*'(${programs.join('|')})'`, 'g');
  const startedBy = (files: readonly string[]): string[] => {
    const reached = new Set(files);
    for (const file of reached) {
      for (const name of sources.get(file)?.imports ?? []) if (sources.has(name)) reached.add(name);
    }
    return [...reached].flatMap((file) =>
      [...(sources.get(file)?.text ?? '').matchAll(starts)].map(([, program]) => `${file}: ${program}`),
    );
  };
  const filesOf = ({ include, exclude = [] }: (typeof testSets)['core']) =>
    files.filter(
      (file) =>
        include.some((pattern) => matchesGlob(file, pattern)) && !exclude.some((pattern) => matchesGlob(file, pattern)),
    );
  expect([...startedBy(filesOf(testSets.unit)), ...startedBy(filesOf(testSets.core))]).toEqual([]);
  // the pattern finds what the other sets start
  expect(startedBy(filesOf(testSets.rest)).length).toBeGreaterThan(5);
});
