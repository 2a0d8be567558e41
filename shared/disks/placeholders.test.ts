import { expect, test } from 'vitest';
import { canonicalWwn, isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';

test.each([
  '',
  '0',
  '0000000000',
  'None',
  '(null)',
  'N/A',
  'Not Specified',
  'To be filled by O.E.M.',
  'Default string',
  'System Serial Number',
  '0123456789ABCDEF',
  '1234567890123',
  'FFFFFFFFFFFF',
  'xxxxxxxx',
])('"%s" is no serial number', (text) => {
  expect(isPlaceholder(text)).toBe(true);
});

test.each([
  'KJGATM4R',
  'S4ENNX0R123456',
  'QM00001',
  '00000001',
  '12345',
  '0x5000c500a1b2 c3',
  'WD-WCC4N1234567',
  'drive-scsi0',
  'NVME-1',
  '1111',
])('"%s" is one', (text) => {
  expect(isPlaceholder(text)).toBe(false);
});

test.each([
  '0x0000000000000000',
  'eui.0000000000000000',
  'eui.0000000000000001',
  'naa.5000000000000001',
  '0x5000000123456789',
  '8ce38e0000000000',
  'uuid.00000000-0000-0000-0000-000000000000',
  'eui.ffffffffffffffff',
  // made of the serial number 000000 and of the model
  'nvme.1987-303030303030-4d4f44454c-00000001',
  't10.ATA     SSD 128GB                               0000000000',
])('%s is no WWN', (text) => {
  expect(isPlaceholderWwn(text)).toBe(true);
});

test.each([
  '0x5000c500a1b2c3d4',
  'eui.0025388b01234567',
  // a maker may leave out the first half of an NGUID
  'eui.00000000000000010026b76812345678',
  'uuid.7ac51625-24d1-4a7c-ae99-dbced6051e0a',
  'nvme.8086-50484b53-4d4f44454c-00000001',
  't10.ATA     QEMU HARDDISK                           QM00001',
  '3aaa0122:29827cfa:5331ad66:ca767371',
])('%s is one', (text) => {
  expect(isPlaceholderWwn(text)).toBe(false);
});

test('one WWN has many spellings', () => {
  const spellings = ['0x5000C500A1B2C3D4', 'naa.5000c500a1b2c3d4', '5000c500a1b2c3d4', ' 0x5000c500a1b2c3d4 '];
  expect(new Set(spellings.map(canonicalWwn))).toEqual(new Set(['5000c500a1b2c3d4']));
  expect(canonicalWwn('uuid.7AC51625-24d1-4a7c-ae99-dbced6051e0a')).toBe('7ac5162524d14a7cae99dbced6051e0a');
  expect(canonicalWwn('t10.ATA     DISK-1')).toBe('t10.ata     disk-1');
});
