import { expect, test } from 'vitest';
import { inParts } from '#conductor/db/in-parts.ts';

test('all values, so many at a time', async () => {
  const parts: number[] = [];
  const values = Array.from({ length: 60_001 }, (_, index) => `v${index}`);
  const read = await inParts(values, async (part) => {
    parts.push(part.length);
    return part;
  });
  expect(read).toEqual(values);
  expect(Math.max(...parts)).toBe(5000);
  expect(parts).toHaveLength(13);
});
