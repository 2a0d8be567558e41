import { expect, test } from 'vitest';
import { createFailureLimit, sourceKey } from '#conductor/auth/failure-limit.ts';

test('a reserve is used up by failures and fills up again', () => {
  let now = 0;
  const limit = createFailureLimit({ perSecond: 0.5, reserve: 2, now: () => now });
  const fail = () => limit.fail('a');
  fail();
  expect(limit.waitSeconds('a')).toBe(0);
  fail();
  expect(limit.waitSeconds('a')).toBe(2);
  expect(limit.waitSeconds('b')).toBe(0);
  now = 1900;
  expect(limit.waitSeconds('a')).toBe(1);
  now = 2000;
  expect(limit.waitSeconds('a')).toBe(0);
  fail();
  expect(limit.waitSeconds('a')).toBe(2);
  now = 1_000_000;
  fail();
  fail();
  expect(limit.waitSeconds('a')).toBe(2);
});

test('who fails many times at once owes them', () => {
  let now = 0;
  const limit = createFailureLimit({ perSecond: 1, reserve: 2, debt: 8, now: () => now });
  for (let i = 0; i < 5; i += 1) limit.fail('a');
  expect(limit.waitSeconds('a')).toBe(4);
  for (let i = 0; i < 50; i += 1) limit.fail('a');
  expect(limit.waitSeconds('a')).toBe(9);
  now = 9000;
  expect(limit.waitSeconds('a')).toBe(0);
});

test('no number of sources fills the memory, and those that fail now are remembered', () => {
  const limit = createFailureLimit({ perSecond: 1, reserve: 1, now: () => 0 });
  for (let i = 0; i < 30_000; i += 1) limit.fail(String(i));
  expect(limit.waitSeconds('29999')).toBe(1);
  expect(limit.waitSeconds('0')).toBe(0);
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  [undefined, 'unknown'],
])('%s is counted as %s', (address, key) => expect(sourceKey(address)).toBe(key));
