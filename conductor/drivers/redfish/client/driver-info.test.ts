import { expect, test } from 'vitest';
import { parseRedfishDriverInfo, redfishMachine } from '#conductor/drivers/redfish/client/driver-info.ts';

test.each([
  ['192.0.2.1', 'https://192.0.2.1'],
  ['bmc1.example:8443', 'https://bmc1.example:8443'],
  ['http://bmc1.example/redfish/v1/', 'http://bmc1.example'],
  ['::1', 'https://[::1]'],
  ['2001:db8::5', 'https://[2001:db8::5]'],
  [' 2001:DB8::0:5 ', 'https://[2001:db8::5]'],
  ['[2001:db8::5]:8443', 'https://[2001:db8::5]:8443'],
  ['https://[2001:db8::5]/redfish/v1', 'https://[2001:db8::5]'],
])('redfish_address %s is %s', (redfish_address, origin) => {
  expect(parseRedfishDriverInfo({ redfish_address }).origin).toBe(origin);
});

test.each([
  ['fe80::1%eth0', 'has a zone'],
  ['https://[fe80::1%25eth0]', 'has a zone'],
  ['2001:db8::5::1', 'must be scheme and authority'],
  ['ftp://192.0.2.1', 'must be scheme and authority'],
  ['https://root:calvin@192.0.2.1', 'must be scheme and authority'],
  ['192.0.2.1/other', 'must be scheme and authority'],
])('redfish_address %s is refused: it %s', (redfish_address, words) => {
  expect(() => parseRedfishDriverInfo({ redfish_address })).toThrow(`redfish_address: ${words}`);
});

test.each(['/redfish/v1', '/redfish/v1/', 'redfish/v1', '', null])(
  'redfish_root_prefix %j is the usual one',
  (prefix) => {
    const info = { redfish_address: 'h', redfish_root_prefix: prefix };
    expect(parseRedfishDriverInfo(info).origin).toBe('https://h');
  },
);

test('another redfish_root_prefix is refused: it may be that of another machine', () => {
  const info = { redfish_address: 'h', redfish_root_prefix: '/blade7/redfish/v1' };
  expect(() => parseRedfishDriverInfo(info)).toThrow('redfish_root_prefix: must be /redfish/v1');
});

test('one address has one name', () => {
  const named = (redfish_address: string) => redfishMachine({ redfish_address });
  expect(named('2001:DB8::0:5')).toBe(named('https://[2001:db8::5]:443/'));
  expect(named('https://192.0.2.1/redfish/v1')).toBe(named('192.0.2.1'));
  expect(named('http://192.0.2.1')).not.toBe(named('192.0.2.1'));
});

test.each<[Record<string, unknown>, string | undefined, string | undefined]>([
  [{ redfish_tls_minimum_version: '1.3', redfish_tls_ciphers: 'ECDHE+AESGCM' }, 'TLSv1.3', 'ECDHE+AESGCM'],
  [{ redfish_tls_minimum_version: 1.1 }, 'TLSv1.1', undefined],
  [{ redfish_tls_minimum_version: null, redfish_tls_ciphers: '' }, undefined, undefined],
])('TLS as %j', (info, minVersion, ciphers) => {
  expect(parseRedfishDriverInfo({ redfish_address: 'h', ...info })).toMatchObject({ minVersion, ciphers });
});

test.each([
  [{ redfish_tls_minimum_version: '1.0' }, 'redfish_tls_minimum_version: must be one of 1.1, 1.2, 1.3'],
  [{ redfish_tls_ciphers: 'NONSENSE' }, 'redfish_tls_ciphers: must be a list in the words of OpenSSL'],
  [{ redfish_tls_ciphers: 7 }, 'redfish_tls_ciphers: must be a list'],
])('TLS as %j is refused', (info, words) => {
  expect(() => parseRedfishDriverInfo({ redfish_address: 'h', ...info })).toThrow(words);
});
