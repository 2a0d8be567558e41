import { expect, test } from 'vitest';
import { createBootEntry, parseBootEntries } from '#agent/boot/efibootmgr.ts';
import type { Run } from '#shared/process/run.ts';

/** efibootmgr 17 without -v, on OVMF. */
const version17 = `BootCurrent: 0001
Timeout: 3 seconds
BootOrder: 0001,0000,0003
Boot0000* UiApp
Boot0001* UEFI PXEv4 (MAC:525400123456)
Boot0003  ironic1
MirroredPercentageAbove4G: 0.00
`;

/** efibootmgr 18 prints the device path after a tab, asked or not. */
const version18 = `BootCurrent: 0004
Timeout: 0 seconds
BootOrder: 0004
Boot0004* debian\tHD(1,GPT,2c1b0f0e-9f0c-4a3d-8b5e-3c2d1e0f9a8b,0x800,0x20000)/File(\\EFI\\debian\\shimx64.efi)
`;

test('entries of version 17', () => {
  expect(parseBootEntries(version17)).toEqual({
    order: ['0001', '0000', '0003'],
    current: '0001',
    entries: [
      { number: '0000', label: 'UiApp', active: true },
      { number: '0001', label: 'UEFI PXEv4 (MAC:525400123456)', active: true },
      { number: '0003', label: 'ironic1', active: false },
    ],
  });
});

test('entries of version 18', () => {
  expect(parseBootEntries(version18)).toEqual({
    order: ['0004'],
    current: '0004',
    entries: [{ number: '0004', label: 'debian', active: true }],
  });
});

test('firmware without entries', () => {
  expect(parseBootEntries('Timeout: 3 seconds\n')).toEqual({ order: [], current: undefined, entries: [] });
});

test('the arguments that create an entry', async () => {
  const seen: string[][] = [];
  const run: Run = async (command, args) => {
    seen.push([command, ...args]);
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  await createBootEntry(run, {
    device: '/dev/vda',
    partition: 15,
    label: 'debian',
    loader: '\\EFI\\debian\\shimx64.efi',
  });
  expect(seen[0]?.join(' ')).toBe(
    'efibootmgr --quiet --create --disk /dev/vda --part 15 --write-signature --label debian --loader \\EFI\\debian\\shimx64.efi',
  );
});
