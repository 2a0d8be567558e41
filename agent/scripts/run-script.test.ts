import { expect, test } from 'vitest';
import { readProgress } from '#agent/scripts/run-script.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

test('progress is the text after the mark', () => {
  expect(
    ['progress: half way  ', 'progress:x', 'progress:', 'progress:   ', ' progress: x', 'done'].map(readProgress),
  ).toEqual(['half way', 'x', '', '', '', '']);
  expect(readProgress(`progress: ${'x'.repeat(500)}`)).toBe('x'.repeat(100));
});

test('a MiB of spaces is not work', () => {
  const started = cpuMs();
  expect(readProgress(`progress:${' '.repeat(1024 * 1024)}`)).toBe('');
  // the expression that it was took minutes
  expect(cpuMs() - started).toBeLessThan(1000);
});
