import { expect, test } from 'vitest';
import { isAgentAddress, leadsTo } from '#conductor/agents/record-heartbeat.ts';
import { parseAddressRanges } from '#shared/peers/address-ranges.ts';

const ranges = parseAddressRanges(['192.0.2.0/24', '2001:db8::/64']);
const rules = 'wrong' in ranges ? undefined : { allow: { entries: [], ranges, names: [], prefixes: [] } };

test.each([
  ['192.0.2.7', true],
  ['::ffff:192.0.2.7', true],
  ['2001:db8::7', true],
  ['198.51.100.7', false],
  ['::ffff:198.51.100.7', false],
  ['127.0.0.1', false],
  [undefined, false],
])('from %s agents call: %s', (address, is) => {
  expect(isAgentAddress(rules ?? { allow: undefined }, address)).toBe(is);
  expect(isAgentAddress({ allow: undefined }, address)).toBe(true);
});

test.each([
  ['https://192.0.2.7:9999', '192.0.2.7', true],
  ['https://192.0.2.7:9999', '::ffff:192.0.2.7', true],
  ['https://[2001:db8:0::7]:9999', '2001:db8::7', true],
  ['https://192.0.2.8:9999', '192.0.2.7', false],
  ['https://agent.example:9999', '192.0.2.7', false],
  ['https://192.0.2.8:9999', undefined, false],
])('%s leads to %s: %s', (url, address, does) => {
  expect(leadsTo(url, address)).toBe(does);
});
