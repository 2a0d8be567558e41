import { expect, test } from 'vitest';
import { createRecentLog } from '#agent/recent-log.ts';

test('keeps the latest lines only', () => {
  const log = createRecentLog(3);
  for (const line of ['1', '2', '3', '4', '5', '6', '7', '8']) log.write(`${line}\n`);
  expect(log.text()).toBe('6\n7\n8\n');
});
