import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TimesReporter } from './times-reporter.ts';

test('times are written as each file ends, before the run does', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'times-')), 'build/times.json');
  const reporter = new TimesReporter(file);
  const moduleOf = (name: string, duration: number) => ({
    moduleId: join(process.cwd(), name),
    project: { name: 'unit' },
    meta: () => ({}),
    diagnostic: () => ({
      environmentSetupDuration: 0,
      prepareDuration: 500,
      collectDuration: 1000,
      setupDuration: 0,
      duration,
      heap: undefined,
      importDurations: {},
      concurrencyId: 1,
      workerId: 1,
    }),
  });
  reporter.onTestRunStart();
  reporter.onTestModuleEnd(moduleOf('a.test.ts', 2500));
  const a = { file: 'a.test.ts', project: 'unit', wallSeconds: 4 };
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ files: [a] });
  reporter.onTestModuleEnd(moduleOf('b.test.ts', 500));
  const b = { file: 'b.test.ts', project: 'unit', wallSeconds: 2 };
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ files: [a, b] });
});
