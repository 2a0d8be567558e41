import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longest, longestFirst } from '#test/set-up/longest-first.ts';

test('the longest files begin, the others keep their order', () => {
  const files = ['/test/vm/b.test.ts', '/test/vm/deploy.test.ts', '/test/a.test.ts', '/test/vm/raid1.test.ts'];
  const sorted = longestFirst(files.map((moduleId) => ({ moduleId })));
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual([
    '/test/vm/raid1.test.ts',
    '/test/vm/deploy.test.ts',
    '/test/vm/b.test.ts',
    '/test/a.test.ts',
  ]);
});

test('they are all there', () => {
  const there = globSync('{test/{system,vm,interop},conductor/**}/*.test.ts');
  expect(longest.filter((file) => !there.some((each) => each.endsWith(`/${file}`)))).toEqual([]);
  expect(new Set(longest).size).toBe(longest.length);
});
