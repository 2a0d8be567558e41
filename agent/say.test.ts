import { expect, test } from 'vitest';
import { formatDuration } from '#agent/say.ts';

test.each([
  [0, '0.0 s'],
  [9949, '9.9 s'],
  [42_400, '42 s'],
  [725_000, '12 min 5 s'],
])('%i ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
