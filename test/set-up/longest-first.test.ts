import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longestFirst } from '#test/set-up/longest-first.ts';

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
  const there = globSync('test/{system,vm,interop}/*.test.ts').map((file) => ({ moduleId: file }));
  const begin = longestFirst(there).slice(0, 14);
  expect(begin.map(({ moduleId }) => moduleId)).toMatchInlineSnapshot(`
    [
      "test/vm/raid1.test.ts",
      "test/system/kill-conductor.test.ts",
      "test/vm/redeploy.test.ts",
      "test/system/every-flow.test.ts",
      "test/vm/deploy.test.ts",
      "test/system/step-failures.test.ts",
      "test/vm/site.test.ts",
      "test/system/conductors.test.ts",
      "test/vm/steps.test.ts",
      "test/vm/partition-image.test.ts",
      "test/interop/real-agent.test.ts",
      "test/vm/bios-efi.test.ts",
      "test/interop/real-ironic.test.ts",
      "test/vm/wipe.test.ts",
    ]
  `);
});
