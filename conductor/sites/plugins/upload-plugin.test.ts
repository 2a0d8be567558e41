import { expect, test } from 'vitest';
import { readUpload } from '#conductor/sites/plugins/upload-plugin.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

const tasks = "- {role: '*', stage: pre_deployment, type: reboot, parameters: {timeout: 1}}";
const faultsOf = (paths: readonly string[]) =>
  readUpload({
    name: 'p',
    version: '1',
    tasks,
    files: Object.fromEntries(paths.map((path) => [path, { content: '', executable: false }])),
  }).faults.map(({ message }) => message);

test('a file is not a folder of another', () => {
  expect(faultsOf(['a/b', 'a/b/c', 'a/bc', 'd'])).toEqual(['file a/b: it is the folder of a/b/c too']);
});

test('too many files are told once, and at once', () => {
  const paths = Array.from({ length: 100_000 }, (_, index) => `../some/folder/${index}`);
  const started = cpuMs();
  expect(faultsOf(paths)).toEqual(['100000 files: 500 at most']);
  // each compared with each it was minutes
  expect(cpuMs() - started).toBeLessThan(10_000);
});
