import { expect, test } from 'vitest';
import { readDhcpLine } from '#conductor/boot/dhcp/dhcp-server.ts';

const mac = '52:54:00:00:00:01';
const read = (said: string) => readDhcpLine(`dnsmasq-dhcp[28262]: ${said}`);

test.each([
  ['2138990418 DHCPACK(v0) 10.77.0.74 52:54:00:00:00:01 ', '10.77.0.74'],
  ['DHCPACK(v0) 10.77.0.74 52:54:00:00:00:01 a-host', '10.77.0.74'],
  ['2138990418 DHCPDISCOVER(v0) 52:54:00:00:00:01 no address available', 'no address available'],
  ['1 DHCPDISCOVER(v0) 10.77.0.5 52:54:00:00:00:01 address in use', 'address in use'],
  ['305419896 PXE(v0) 52:54:00:00:00:01 proxy', 'proxy'],
])('%s', (said, detail) => {
  expect(read(said)).toEqual({ mac, event: { event: 'dhcp', detail } });
});

test.each([
  '2138990418 DHCPDISCOVER(v0) 52:54:00:00:00:01 ',
  '2138990418 DHCPOFFER(v0) 10.77.0.74 52:54:00:00:00:01 ',
  '2138990418 vendor class: DHCPACK(v0) 10.77.0.74 52:54:00:00:00:01',
  '2138990418 client provides name: x DHCPACK(v0) 10.77.0.74 52:54:00:00:00:01',
  'DHCPACK(v0) 10.77.0.74 not-a-mac',
  '',
])('takes no notice of: %s', (said) => {
  expect(read(said)).toBeUndefined();
  expect(readDhcpLine(said)).toBeUndefined();
});
