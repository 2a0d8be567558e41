import { expect, test } from 'vitest';
import { readTimes, timesTable } from '#test/set-up/times-table.ts';

test('projects first, then files by their processor time, the many small ones in one row', () => {
  const files = [
    { file: 'a.test.ts', project: 'unit', wallSeconds: 1, cpuSeconds: 2 },
    { file: 'b.test.ts', project: 'core', wallSeconds: 90, cpuSeconds: 12.34 },
    { file: 'c.test.ts', project: 'core', wallSeconds: 9, cpuSeconds: 60 },
    { file: 'd.test.ts', project: 'unit', wallSeconds: 0.5 },
  ];
  const times = readTimes(JSON.stringify({ day: '2026-11-22', wallSeconds: 100.4, cores: 2, files }));
  expect(timesTable(times)).toBe(`2026-11-22, 2 cores: 4 files in 100 s, 74 s of processor time

| project | file | processor s | wall s |
|---|---|--:|--:|
| unit | 2 files | 2.0 | 1.5 |
| core | 2 files | 72.3 | 99.0 |
| core | c.test.ts | 60.0 | 9.0 |
| core | b.test.ts | 12.3 | 90.0 |
| all | 2 files below 5 s | 2.0 | 1.5 |
`);
});
