import { expect, test } from 'vitest';
import { cleanBootEntries } from '#agent/boot/clean-boot-entries.ts';
import { parseBootEntries } from '#agent/boot/efibootmgr.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import type { Run } from '#shared/process/run.ts';

/** efibootmgr 17 with --verbose, on OVMF. */
const verbose = `BootCurrent: 0001
Timeout: 0 seconds
BootOrder: 0001,0000,0003,0005
Boot0000* UiApp\tFvVol(7cb8bdc9-f8eb-4f34-aaea-3ee4af6516a1)/FvFile(462caa21-7614-4503-836e-8ab6f4662331)
Boot0001* UEFI PXEv4 (MAC:525400123456)\tPciRoot(0x0)/Pci(0x2,0x0)/MAC(525400123456,1)/IPv4(0.0.0.00.0.0.0,0,0)N.....YM....R,Y.
Boot0003  debian\tHD(1,GPT,2c1b0f0e-9f0c-4a3d-8b5e-3c2d1e0f9a8b,0x800,0x20000)/File(\\EFI\\debian\\shimx64.efi)
Boot0005* ironic1\tHD(2,GPT,aaaaaaaa-9f0c-4a3d-8b5e-3c2d1e0f9a8b,0x800,0x20000)/File(\\EFI\\BOOT\\BOOTX64.EFI)
`;

function fakeRun(stdout: string): { readonly run: Run; readonly deleted: string[] } {
  const deleted: string[] = [];
  const run: Run = (_command, args) => {
    if (args.includes('--delete-bootnum')) deleted.push(args[args.indexOf('--bootnum') + 1] ?? '');
    return Promise.resolve(ranWell(stdout));
  };
  return { run, deleted };
}

test('reads label and device path', () => {
  expect(parseBootEntries(verbose).entries.map(({ number, label }) => `${number} ${label}`)).toEqual([
    '0000 UiApp',
    '0001 UEFI PXEv4 (MAC:525400123456)',
    '0003 debian',
    '0005 ironic1',
  ]);
  expect(parseBootEntries(verbose).entries[2]?.path).toMatch(/^HD\(1,GPT,.*shimx64.efi\)$/);
  expect(parseBootEntries('Boot0007* none\n').entries).toMatchObject([{ number: '0007', label: 'none', path: '' }]);
});

test('without patterns what installed systems left goes, and what the firmware made stays', async () => {
  const { run, deleted } = fakeRun(verbose);
  expect(await cleanBootEntries(run)).toEqual(['debian', 'ironic1']);
  expect(deleted).toEqual(['0003', '0005']);
});

test.each([
  [['^ironic'], ['0005']],
  [
    ['shim.*\\.efi', 'PXEv4'],
    ['0001', '0003'],
  ],
  [['HD\\(2,'], ['0005']],
  [[], []],
])('patterns %j remove %j', async (patterns, expected) => {
  const { run, deleted } = fakeRun(verbose);
  await cleanBootEntries(run, patterns);
  expect(deleted).toEqual(expected);
});

test('a bad pattern is named before anything is removed', async () => {
  const { run, deleted } = fakeRun(verbose);
  await expect(cleanBootEntries(run, ['debian', '('])).rejects.toThrow(
    /match_patterns\[1\] is not a valid regular expression: "\("/,
  );
  expect(deleted).toEqual([]);
});
