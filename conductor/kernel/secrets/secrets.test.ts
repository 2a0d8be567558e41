import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSecrets, isSealed } from '#conductor/kernel/secrets/secrets.ts';

const [old, current] = [randomBytes(32), randomBytes(32)];
const before = createSecrets([old]);
const after = createSecrets([current, old]);

test('what is sealed opens in its place, with the key that has sealed it or is the first by now', () => {
  const sealed = before.seal('hünter2', 'node 1 driver_info.ipmi_password');
  expect(sealed).toMatch(/^sealed:v1:[0-9a-f]{16}:[\w-]+$/);
  expect(sealed).not.toContain('nter2');
  expect(isSealed(sealed)).toBe(true);
  for (const secrets of [before, after]) {
    expect(secrets.open(sealed, 'node 1 driver_info.ipmi_password')).toBe('hünter2');
  }
  expect([before, after].map(({ prefix }) => sealed.startsWith(prefix))).toEqual([true, false]);
  expect(before.seal('hünter2', 'x')).not.toBe(before.seal('hünter2', 'x'));
});

test('a row that was copied to another node does not open, and neither does a damaged one', () => {
  const sealed = before.seal('x', 'node 1 driver_info.ipmi_password');
  expect(() => before.open(sealed, 'node 2 driver_info.ipmi_password')).toThrow(
    /^node 2 driver_info\.ipmi_password can't be opened/,
  );
  expect(() => before.open(`${sealed.slice(0, -4)}AAAA`, 'node 1 driver_info.ipmi_password')).toThrow(/damaged/);
  expect(() => before.open(sealed.slice(0, 40), 'node 1 driver_info.ipmi_password')).toThrow(/damaged/);
});

test('a missing key is named, with the place', () => {
  const sealed = after.seal('x', 'node 1 driver_info.ipmi_password');
  const id = sealed.split(':')[2];
  expect(() => before.open(sealed, 'node 1 driver_info.ipmi_password')).toThrow(
    `node 1 driver_info.ipmi_password is sealed with key ${id}, which is not among the conductor's keys`,
  );
});

test('digests stay the same as long as the oldest key does, and need it', () => {
  expect(before.digest('plan')).toMatch(/^[0-9a-f]{64}$/);
  expect(after.digest('plan')).toBe(before.digest('plan'));
  expect(createSecrets([current]).digest('plan')).not.toBe(before.digest('plan'));
});
