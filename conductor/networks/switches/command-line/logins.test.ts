import { expect, onTestFinished, test, vi } from 'vitest';
import type { CommandLine } from '#conductor/networks/switches/command-line/command-line.ts';
import { createLogins } from '#conductor/networks/switches/command-line/logins.ts';

test('a login ends when nobody uses it, and never amid a command', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answer = Promise.withResolvers<string[]>();
  let isClosed = false;
  const line: CommandLine = {
    run: () => answer.promise,
    isClosed: () => isClosed,
    close: () => {
      isClosed = true;
    },
  };
  const logins = createLogins(async () => line, undefined, { endpoint: 'ssh:192.0.2.1' }, 100);
  const commit = (await logins.current(undefined)).run(['commit']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(isClosed).toBe(false);
  // nor when it is asked for meanwhile
  await logins.current(undefined);
  await vi.advanceTimersByTimeAsync(1000);
  expect(isClosed).toBe(false);
  answer.resolve(['done']);
  expect(await commit).toEqual(['done']);
  await vi.advanceTimersByTimeAsync(99);
  expect(isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isClosed).toBe(true);
});
