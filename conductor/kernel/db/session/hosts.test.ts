import { expect, test } from 'vitest';
import { hostsOf, namesPrimary } from '#conductor/kernel/db/session/database-url.ts';
import { serverOf } from '#conductor/kernel/db/session/hosts.ts';

const both = 'postgres://u:p%2C@db1:5433,[fd00::2],db3/baton?target_session_attrs=read-write&sslmode=require';

test('several hosts, each with its port', () => {
  expect(hostsOf(both)).toEqual([
    { host: 'db1', port: 5433 },
    { host: 'fd00::2', port: 5432 },
    { host: 'db3', port: 5432 },
  ]);
  expect(hostsOf('postgres://u:a,b@db/baton')).toEqual([{ host: 'db', port: 5432 }]);
  expect(hostsOf('postgres:///baton?host=/run/postgresql')).toEqual([]);
});

test('of several the one that takes writes must be asked for', () => {
  expect(namesPrimary(both)).toBe(true);
  for (const url of [
    'postgres://a,b/baton',
    'postgres://a,b/baton?target_session_attrs=any',
    'postgres://a,,b/baton?target_session_attrs=read-write',
    'postgres:///baton?host=a,b&target_session_attrs=read-write',
  ])
    expect(namesPrimary(url)).toBe(false);
});

test.each([
  [both, 'postgres://u:p%2C@db1:5433/baton?sslmode=require'],
  ['postgres://a,b/baton?target_session_attrs=read-write', 'postgres://a/baton'],
  ['postgres://a,b/baton?options=x&target_session_attrs=primary', 'postgres://a/baton?options=x'],
  ['postgres://a/baton?options=x', 'postgres://a/baton?options=x'],
])('%s for pg', (url, expected) => {
  expect(serverOf(url).connectionString).toBe(expected);
});
