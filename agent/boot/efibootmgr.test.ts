import { expect, test } from 'vitest';
import { z } from 'zod';
import { readPathBytes, readWordedPath } from '#agent/boot/device-path.ts';
import { createBootEntry, parseBootEntries, readBootEntries } from '#agent/boot/efibootmgr.ts';
import { isDead } from '#agent/boot/known-partitions.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const recordings = await readRecordings(
  'boot/entries',
  z.strictObject({
    order: z.array(z.string()),
    next: z.string().nullable(),
    /** By number: `unknown`, or PARTUUID and file. */
    entries: z.record(z.string(), z.string()),
  }),
);

test.each(recordings)('$name: $shows', ({ outputs, reading }) => {
  const [text = ''] = Object.values(outputs);
  const { order, next, entries } = parseBootEntries(text);
  expect({ order, next: next ?? null }).toEqual({ order: reading.order, next: reading.next });
  const targets = entries.map(({ number, target }) => [
    number,
    target.kind === 'file' ? `${target.partition} ${target.file}` : 'unknown',
  ]);
  expect(Object.fromEntries(targets)).toEqual(reading.entries);
  // on a machine that has no partition at all, and is known to have none
  const dead = entries.filter(({ target }) => isDead(target, { ids: new Map(), doubts: [] }, new Map()));
  expect(dead.map(({ number }) => number)).toEqual(
    Object.entries(reading.entries)
      .filter(([, target]) => target !== 'unknown')
      .map(([number]) => number),
  );
});

test('labels, and which entries are active', () => {
  const lines = 'Boot0000* UiApp\nBoot0001* UEFI PXEv4 (MAC:525400123456)\nBoot0003  ironic1\n';
  const text = `BootCurrent: 0001\nTimeout: 3 seconds\nBootOrder: 0001\n${lines}MirroredPercentageAbove4G: 0.00\n`;
  expect(parseBootEntries(text).current).toBe('0001');
  expect(parseBootEntries(text).entries.map(({ number, label, active }) => [number, label, active])).toEqual([
    ['0000', 'UiApp', true],
    ['0001', 'UEFI PXEv4 (MAC:525400123456)', true],
    ['0003', 'ironic1', false],
  ]);
});

test('firmware without entries', () => {
  const none = { order: [], current: undefined, next: undefined, entries: [] };
  expect(parseBootEntries('Timeout: 3 seconds\n')).toEqual(none);
});

const guid = '5c1e0001-0a1b-4c2d-8e3f-000000000001';

test.each([
  `HD(1,GPT,${guid},0x800,0x20000)`,
  `HD(1,GPT,${guid},0x800,0x20000)/`,
  `HD(1,GPT,${guid},0x800,0x20000)/File(\\EFI\\vmlinuz)`,
  'HD(1,GPT,00000000-0000-0000-0000-000000000000,0x800,0x20000)/File(\\EFI\\a.efi)',
  'HD(1,GPT,5c1e,0x800,0x20000)/File(\\EFI\\a.efi)',
  'HD(1,MBR,0x00000000,0x800,0x20000)/File(\\EFI\\a.efi)',
  `HD(1,2,${guid},0x800,0x20000)/File(\\EFI\\a.efi)`,
  `PciRoot(0x0)/Pci(0x14,0x0)/USB(3,0)/HD(1,GPT,${guid},0x800,0x20000)/File(\\EFI\\a.efi)`,
  `PciRoot(0x0)/Pci(0x2,0x0)/Fibre(5001,0)/HD(1,GPT,${guid},0x800,0x20000)/File(\\EFI\\a.efi)`,
  `AcpiEx(VMBus,,)/VenHw(9b17)/SCSI(0,0)/HD(1,GPT,${guid},0x800,0x20000)/File(\\EFI\\a.efi)`,
  '',
])('not understood: %s', (path) => {
  expect(readWordedPath(path)).toEqual({ kind: 'unknown' });
});

test('a partition of an MBR, and one behind a controller', () => {
  expect(readWordedPath('HD(2,MBR,0x1a2b3c4,0x800,0x20000)/File(\\EFI\\A.EFI)RC')).toEqual({
    kind: 'file',
    partition: '01a2b3c4-02',
    file: '\\efi\\a.efi',
  });
  const path = `PciRoot(0x0)/Pci(0x1f,0x2)/Sata(0,65535,0)/HD(1,GPT,${guid.toUpperCase()},0x800,0x20)/File(\\\\EFI\\\\a.efi)`;
  expect(readWordedPath(path)).toEqual({ kind: 'file', partition: guid, file: '\\efi\\a.efi' });
});

test.each(['', 'xx', '7f ff 04 00', '04 01 2a 00', '04 01 2a 00 01 00 / 04 04 06 00 5c 00 / 7f ff 04 00'])(
  'bytes that are no path: %j',
  (bytes) => {
    expect(readPathBytes(bytes)).toEqual({ kind: 'unknown' });
  },
);

test('where a path can not be worded, its entries are read without', async () => {
  const run: Run = (_command, args) =>
    args.includes('--verbose')
      ? Promise.reject(
          new AppError('command_failed', 'efibootmgr --verbose exited with 18: Could not parse device path'),
        )
      : Promise.resolve(ranWell('BootOrder: 0000,0005\nBoot0000* debian\nBoot0005* Hard Drive\n'));
  const { entries } = await readBootEntries(run);
  expect(entries.map(({ label, target }) => [label, target.kind])).toEqual([
    ['debian', 'unknown'],
    ['Hard Drive', 'unknown'],
  ]);
});

test('the arguments that create an entry', async () => {
  const seen: string[][] = [];
  const run: Run = async (command, args) => {
    seen.push([command, ...args]);
    return ranWell();
  };
  const entry = { device: '/dev/vda', partition: 15, label: 'debian', loader: '\\EFI\\debian\\shimx64.efi' };
  await createBootEntry(run, entry);
  await createBootEntry(run, { ...entry, loaderData: '\\EFI\\Linux\\a.efi' });
  const line =
    'efibootmgr --quiet --create --disk /dev/vda --part 15 --write-signature --label debian --loader \\EFI\\debian\\shimx64.efi';
  expect(seen.map((each) => each.join(' '))).toEqual([line, `${line} --unicode -- \\EFI\\Linux\\a.efi`]);
});
