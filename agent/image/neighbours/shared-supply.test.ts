import { expect, onTestFinished, test, vi } from 'vitest';
import { openSupply } from '#agent/image/neighbours/shared-supply.ts';
import { createTracker, startSharing } from '#agent/image/neighbours/testing/swarm.ts';
import { createChunkMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';

test('an image of too many chunks is not shared, and the log says so', async () => {
  await using sharing = startSharing(createTracker(), 'a');
  const chunks = ['a', 'b'].map((letter, at) => ({ offset: at * 60, length: 60, id: letter.repeat(64) }));
  const index = { imageBytes: 120, digest: 'sha256' as const, sizes: { min: 60, avg: 60, max: 60 }, chunks };
  const log = silentLog.child({});
  const info = vi.spyOn(log, 'info');
  const options = {
    urls: ['http://127.0.0.1:9/'],
    headers: {},
    clock: systemClock,
    log,
    maxTries: 1,
    retryDelayMs: 0,
    kept: new Map(),
  };
  const { signal } = new AbortController();
  const memory = createChunkMemory(index, signal, 1);
  onTestFinished(() => memory.close());
  const begin = vi.fn(() => sharing.share('image'));
  const unshared = openSupply(index, memory, begin, options, signal, 1);
  expect(unshared.share).toBeUndefined();
  expect(begin).not.toHaveBeenCalled();
  expect(info).toHaveBeenCalledWith({ chunks: 2, most: 1 }, expect.stringContaining('too many chunks'));
  const shared = openSupply(index, memory, begin, options, signal, 2);
  expect(shared.share).toBe(begin.mock.results[0]?.value);
  shared.supply.close();
});
