import { expect, test } from 'vitest';
import { isBmcLink, parseCardAddress } from '#shared/mac-address.ts';
import { filledIn, isSameUuid, realSerial, realUuid, writtenUuids } from '#shared/machine-identity.ts';

test.each([
  '',
  '  ',
  '-',
  '0',
  'None',
  'N/A',
  'Not Specified',
  'Not Settable',
  'To Be Filled By O.E.M.',
  'to be filled by oem',
  'Default string',
  'System Serial Number',
  'Chassis Serial Number',
  'System manufacturer',
  'System Product Name',
  'Serial Not Set',
  'xxxxxxxx',
  '........',
  'SerNum0',
  'Asset-1234567890',
  '<BAD INDEX>',
])('%j is what nobody has filled in', (text) => {
  expect(filledIn(text)).toBeNull();
  expect(realSerial(text)).toBeNull();
});

test.each(['0123456789', '1234567', '1234567890', '123456789ABCDEF', 'ABCDEFGH', '11111111', 'FFFFFFFF', '00-00-00'])(
  '%s is the serial number of no machine',
  (text) => {
    expect(realSerial(text)).toBeNull();
  },
);

test.each(['5Q4XXY1', 'S16604645700001', 'ABC123', '2M233401AB', 'VMware-56 4d a6 d2', 'CZ3A1', '1324567'])(
  '%s is a serial number',
  (text) => {
    expect(realSerial(` ${text} `)).toBe(text);
  },
);

test.each(['R740', '1.0', '01', 'A', 'PowerEdge R640', 'X10DRFR-NT'])('%s is a name or version', (text) => {
  expect(filledIn(text)).toBe(text);
});

test.each([
  '',
  'Not Present',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '4C4C4544-0000-2010-8020-80C04F202020',
])('%j is the UUID of no machine', (uuid) => {
  expect(realUuid(uuid)).toBeNull();
});

test('a UUID is one machine’s in both orders of its first three fields', () => {
  const [a, b, other] = [
    '9402DE03-8004-0605-F806-D50700080A09',
    '03de0294-0480-0506-f806-d50700080a09',
    '0'.repeat(30),
  ];
  const [own, turned] = [realUuid(a) ?? '', realUuid(b) ?? ''];
  expect(isSameUuid(own, turned)).toBe(true);
  expect(isSameUuid(turned, own)).toBe(true);
  expect(isSameUuid(own, `${other}01`)).toBe(false);
  expect(writtenUuids(own)).toEqual([a.toLowerCase(), b]);
});

test('addresses that many cards have find none of them', () => {
  expect(parseCardAddress('3C-EC-EF-0A-A1-01')).toBe('3c:ec:ef:0a:a1:01');
  for (const none of ['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01', '00:a0:c9:00:00:00', 'none']) {
    expect(parseCardAddress(none)).toBeUndefined();
  }
});

test('a link to the BMC has a driver of its class and an address that nobody has assigned', () => {
  const unassigned = 'be:3a:f2:b6:05:9f';
  expect(isBmcLink({ macAddress: unassigned, driver: 'cdc_ether' })).toBe(true);
  expect(isBmcLink({ macAddress: unassigned, driver: 'virtio_net' })).toBe(false);
  expect(isBmcLink({ macAddress: '00:e0:4c:0a:a1:02', driver: 'cdc_ncm' })).toBe(false);
  expect(isBmcLink({ macAddress: unassigned, driver: null })).toBe(false);
});
