import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openTimeLimit } from '#shared/peers/time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('it fires as AbortSignal.timeout does, unless it has ended', () => {
  const [late, ended] = [openTimeLimit(1000), openTimeLimit(1000)];
  ended.end();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1000);
  expect(late.signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect(ended.signal.aborted).toBe(false);
});

test('another signal ends it with its own reason', () => {
  const other = new AbortController();
  const limit = openTimeLimit(1000, other.signal);
  const reason = new Error('stopped');
  other.abort(reason);
  expect(limit.signal.reason).toBe(reason);
  limit.end();
  expect(vi.getTimerCount()).toBe(0);
});
