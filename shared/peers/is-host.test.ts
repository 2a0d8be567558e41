import { expect, test } from 'vitest';
import { isHost } from '#shared/peers/is-host.ts';

test.each([
  '192.0.2.1',
  'fd00::1',
  'fe80::1%eth0',
  'n1',
  'n1.example.org',
  'n1.example.org.',
  'bmc_07',
  '1and1.example',
])('%s is a host', (text) => {
  expect(isHost(text)).toBe(true);
});

test.each([
  ['', 'nothing'],
  ['192.0.2.999', 'no address'],
  ['192.0.2', 'part of an address'],
  ['127.0.0.1:23804', 'with a port'],
  ['n1:2380', 'with a port'],
  ['[fd00::1]', 'in brackets'],
  ['http://x', 'a URL'],
  ['n1/path', 'with a path'],
  ['n1 n2', 'two'],
  ['-oProxy', "a program's option"],
  ['n1..example', 'with an empty label'],
  [`${'a'.repeat(64)}.example`, 'with a label that is too long'],
])('%s is none: %s', (text) => {
  expect(isHost(text)).toBe(false);
});
