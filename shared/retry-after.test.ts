import { expect, test } from 'vitest';
import { retryAfterMs } from '#shared/retry-after.ts';

const now = new Date('2026-11-30T08:00:00Z');

test.each([
  ['3', 3000],
  [' 0 ', 0],
  ['Mon, 30 Nov 2026 08:01:00 GMT', 60_000],
  ['Mon, 30 Nov 2026 07:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
])('%j', (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms);
});
