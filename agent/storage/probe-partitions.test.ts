import { expect, test } from 'vitest';
import { parseBlkid } from '#agent/storage/partition-table.ts';

test('blkid --probe --output export, recorded', () => {
  const recorded = `DEVNAME=/dev/loop0p1
LABEL_FATBOOT=EFI
LABEL=MY\\ EFI
UUID=5C0E-9E39
VERSION=FAT16
TYPE=vfat
PART_ENTRY_SCHEME=gpt
PART_ENTRY_NAME=efi
PART_ENTRY_UUID=2c1b0f0e-9f0c-4a3d-8b5e-3c2d1e0f9a8b
PART_ENTRY_TYPE=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
PART_ENTRY_NUMBER=1
`;
  expect(parseBlkid(recorded)).toEqual({
    fsType: 'vfat',
    fsLabel: 'MY EFI',
    fsUuid: '5C0E-9E39',
    partLabel: 'efi',
    partType: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  });
});

test('a partition of which nothing is known', () => {
  expect(parseBlkid('')).toEqual({
    fsType: null,
    fsLabel: null,
    fsUuid: null,
    partLabel: null,
    partType: null,
  });
});
