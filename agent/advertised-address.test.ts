import { describe, expect, test } from 'vitest';
import { callbackUrl, findAdvertisedAddress } from '#agent/advertised-address.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';

const signal = new AbortController().signal;

describe('findAdvertisedAddress', () => {
  test.each([
    ['http://127.0.0.1:6385', '127.0.0.1'],
    ['https://127.0.0.1', '127.0.0.1'],
  ])('towards %s is %s', async (url, address) => {
    const clock = createInstantClock();
    const options = { interfaceName: undefined, attempts: 1, retryMs: 0, clock, signal };
    expect(await findAdvertisedAddress({ ...options, apiUrl: () => url })).toBe(address);
  });

  test('of a given interface', async () => {
    const clock = createInstantClock();
    const options = { interfaceName: 'lo', attempts: 1, retryMs: 0, clock, signal };
    expect(await findAdvertisedAddress({ ...options, apiUrl: () => 'http://192.0.2.1' })).toBe('127.0.0.1');
  });

  test('is tried again, then fails with the reason', async () => {
    const clock = createInstantClock();
    const options = { interfaceName: 'no-such0', attempts: 3, retryMs: 10_000, clock, signal };
    const failure = findAdvertisedAddress({ ...options, apiUrl: () => 'http://192.0.2.1' });
    await expect(failure).rejects.toMatchObject({
      code: 'unavailable',
      cause: { message: 'network interface no-such0 has no IP address' },
    });
    expect(clock.sleeps).toEqual([10_000, 10_000]);
  });
});

describe('callbackUrl', () => {
  test.each([
    ['192.0.2.10', 'https://192.0.2.10:9999'],
    ['fd00::1', 'https://[fd00::1]:9999'],
  ])('%s', (address, url) => expect(callbackUrl('https', address, 9999)).toBe(url));
});
