import { expect, test } from 'vitest';
import { WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { composeReceipt, inventoriedDisks, type ReceiptFacts } from '#conductor/receipts/compose-receipt.ts';
import { erasedDisk, receiptFacts } from '#conductor/receipts/testing/example-facts.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';
import { skipReasons } from '#shared/wire/erase-result.ts';

test('every disk is told: wiped with its proof, left alone with its reason, or not met at all', () => {
  const kept = { device: '/dev/sdb', serial: 'KEPT', wwn: null, model: 'ST8', reason: skipReasons.preserved };
  const receipt = composeReceipt(
    receiptFacts({
      preserveLocalStorage: true,
      result: { erased: [erasedDisk('OS', { tried: ['nvme format: refused'] })], skipped: [kept] },
      inventoried: [
        // the kernel has named them the other way round since
        { device: '/dev/sdb', serial: 'OS', wwn: null, model: 'ST4000', sizeBytes: 4_000_787_030_016, excuse: null },
        { device: '/dev/sda', serial: 'KEPT', wwn: null, model: 'ST8', sizeBytes: 8_001_563_222_016, excuse: null },
        { device: '/dev/sdc', serial: 'DEAD', wwn: null, model: 'ST4000', sizeBytes: 1, excuse: null },
      ],
    }),
  );
  expect(WipeReceipt.parse(JSON.parse(JSON.stringify(receipt)))).toEqual(receipt);
  expect(receipt).toMatchObject({
    kind: 'WipeReceipt',
    version: 1,
    preserve_local_storage: true,
    times: { started: '2026-11-21T22:00:00.000Z', wiped: '2026-11-21T22:40:00.000Z' },
  });
  expect(receipt.disks_wiped).toMatchObject([
    {
      serial: 'OS',
      proof: { canaries: 66, samples: 64, reads: 'zeros' },
      seconds: 26.4,
      tried: ['nvme format: refused'],
    },
  ]);
  expect(receipt.disks_left_alone).toEqual([
    {
      device: '/dev/sdb',
      model: 'ST8',
      serial: 'KEPT',
      wwn: null,
      size_bytes: 8_001_563_222_016,
      reason: kept.reason,
      skip_list_entry: null,
    },
  ]);
  expect(receipt.disks_not_seen).toMatchObject([{ serial: 'DEAD' }]);
});

test('of namespaces with one serial number each is told for itself', () => {
  const namespace = (wwn: string) => ({
    device: '/dev/nvme0n1',
    serial: 'S',
    wwn,
    model: null,
    sizeBytes: 1,
    excuse: null,
  });
  const skipped = [{ device: '/dev/nvme0n2', serial: 'S', wwn: 'eui.02', model: null, reason: skipReasons.preserved }];
  const receipt = composeReceipt(
    receiptFacts({
      preserveLocalStorage: true,
      result: { erased: [erasedDisk('S', { wwn: 'eui.01' })], skipped },
      inventoried: [namespace('eui.01'), { ...namespace('eui.02'), sizeBytes: 2 }, namespace('eui.03')],
    }),
  );
  expect(receipt.disks_left_alone).toMatchObject([{ wwn: 'eui.02', size_bytes: 2 }]);
  expect(receipt.disks_not_seen).toMatchObject([{ wwn: 'eui.03' }]);
});

test('a receipt of an earlier conductor, which says less, can be read', () => {
  const { agent: _, scope: __, ...earlier } = composeReceipt(receiptFacts());
  expect(WipeReceipt.parse(earlier)).toMatchObject({ agent: null, scope: '' });
});

test('what the skip list leaves alone is told with its entry', () => {
  const entry = { serial: 'KEEP' };
  const skipped = [{ device: '/dev/sdb', serial: 'KEEP', wwn: null, model: null, reason: skipReasons.skipList }];
  const disks = [{ ...testDisk({ name: '/dev/sdb', serial: 'KEEP' }), contents: null }];
  const inventoried = inventoriedDisks({ disks, toMeet: disks }, { skip_block_devices: [{ serial: 'OTHER' }, entry] });
  const receipt = composeReceipt(receiptFacts({ result: { erased: [], skipped }, inventoried }));
  expect(receipt.disks_left_alone).toMatchObject([{ serial: 'KEEP', skip_list_entry: entry }]);
});

test('the members of a volume on the skip list are told with its entry; a missing disk is judged by its own marks', () => {
  const entry = { wwn: 'a:b' };
  const disk = (name: string, more: object = {}) => ({ ...testDisk({ name, serial: name, ...more }), contents: null });
  const member = disk('/dev/sda', { holders: ['/dev/md0'] });
  const volume = disk('/dev/md0', { type: 'raid1', wwn: 'a:b' });
  // of an earlier inventory, where another volume was called so
  const missing = disk('/dev/sda', { serial: 'EARLIER', holders: ['/dev/md0'] });
  const inventory = { disks: [member, volume], toMeet: [member, missing] };
  expect(inventoriedDisks(inventory, { skip_block_devices: [{ serial: 'OTHER' }, entry] })).toMatchObject([
    { serial: '/dev/sda', excuse: skipReasons.skipList, skipListEntry: entry },
    { serial: 'EARLIER', excuse: null },
  ]);
});

test('the members of an array that was not assembled are excused by the entry that names it', () => {
  const entry = { wwn: '725d4de6:84e9294c:a148f1e4:4f2cf4d3' };
  const restingArrays = [{ uuids: [entry.wwn], names: [] }];
  const disks = ['/dev/sda', '/dev/sdb'].map((name) => ({ ...testDisk({ name, restingArrays }), contents: null }));
  expect(inventoriedDisks({ disks, toMeet: disks }, { skip_block_devices: [entry] })).toMatchObject([
    { excuse: skipReasons.skipList, skipListEntry: entry },
    { excuse: skipReasons.skipList, skipListEntry: entry },
  ]);
});

test('what the agent has warned of is signed too', () => {
  const warnings = ['properties.skip_block_devices[0] {"serial":"GONE"} names no disk of this machine'];
  expect(composeReceipt(receiptFacts({ result: { erased: [], skipped: [], warnings } })).warnings).toEqual(warnings);
  const { warnings: _, ...earlier } = composeReceipt(receiptFacts());
  expect(WipeReceipt.parse(earlier).warnings).toEqual([]);
});

test('a machine without disks has a receipt that says so', () => {
  const receipt = composeReceipt(receiptFacts({ result: { erased: [], skipped: [] } }));
  expect([receipt.disks_wiped, receipt.disks_left_alone]).toEqual([[], []]);
});

const preserved = { device: '/dev/sdb', serial: 'S', wwn: null, model: null, reason: skipReasons.preserved };
const inventoried = [{ device: '/dev/sda', serial: 'S', wwn: null, model: null, sizeBytes: 1, excuse: null }];

test.each<[string, Partial<ReceiptFacts>, string]>([
  [
    'a disk of which nothing was read back',
    { result: { erased: [erasedDisk('A'), erasedDisk('B', { proof: null })], skipped: [] } },
    'nothing that was read back proves the wipe of /dev/sda (serial B)',
  ],
  [
    'a proof without a single read',
    { result: { erased: [erasedDisk('A', { proof: { canaries: 0, samples: 0, reads: 'zeros' } })], skipped: [] } },
    'nothing that was read back proves the wipe of /dev/sda (serial A)',
  ],
  [
    'samples that read as they may have before',
    { result: { erased: [erasedDisk('A', { proof: { canaries: 0, samples: 8, reads: 'changed' } })], skipped: [] } },
    'nothing that was read back proves the wipe of /dev/sda (serial A)',
  ],
  [
    'a disk preserved unasked',
    { result: { erased: [erasedDisk('A')], skipped: [preserved] } },
    '/dev/sdb (serial S) was preserved without a request',
  ],
  [
    'an operating system that is still there',
    { preserveLocalStorage: true, result: { erased: [], skipped: [preserved] } },
    'no disk with an operating system was wiped',
  ],
  [
    'disks that the ramdisk did not find',
    { result: { erased: [], skipped: [] }, inventoried },
    'the wipe did not find /dev/sda (serial S), which this machine had',
  ],
  [
    'a disk that was pulled out or is dead',
    { result: { erased: [erasedDisk('A')], skipped: [] }, inventoried },
    'the wipe did not find /dev/sda (serial S), which this machine had',
  ],
])('%s is not signed', (_, facts, message) => {
  expect(() => composeReceipt(receiptFacts(facts))).toThrow(message);
});
