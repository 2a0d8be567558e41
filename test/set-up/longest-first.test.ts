import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { longestFirst } from '#test/set-up/longest-first.ts';

test('the longest files begin, the others keep their order', () => {
  const files = ['/t/b.test.ts', '/t/deploy.test.ts', '/t/a.test.ts', '/t/raid1.test.ts'];
  const sorted = longestFirst(files.map((moduleId) => ({ moduleId })));
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual([
    '/t/raid1.test.ts',
    '/t/deploy.test.ts',
    '/t/b.test.ts',
    '/t/a.test.ts',
  ]);
});

test('they are all there', () => {
  const there = globSync('test/{system,vm}/*.test.ts').map((file) => ({ moduleId: file }));
  const begin = longestFirst(there).slice(0, 10);
  expect(begin.map(({ moduleId }) => basename(moduleId))).toMatchInlineSnapshot(`
    [
      "raid1.test.ts",
      "kill-conductor.test.ts",
      "deploy.test.ts",
      "every-flow.test.ts",
      "steps.test.ts",
      "step-failures.test.ts",
      "partition-image.test.ts",
      "conductors.test.ts",
      "bios-efi.test.ts",
      "inspect.test.ts",
    ]
  `);
});
