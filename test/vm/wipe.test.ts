import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { recordedVolume } from '#agent/storage/testing/recorded-lvm.ts';
import { toKnownDisk } from '#conductor/model/known-disk.ts';
import { inventoriedDisks } from '#conductor/receipts/compose-receipt.ts';
import { run } from '#shared/process/run.ts';
import { EraseResult, skipReasons } from '#shared/wire/erase-result.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';
import { type BareDisk, type BareMachine, bootBareMachine } from '#test/support/bare-machine.ts';

/**
 * The wipe that preserves local storage, by the real ramdisk on a machine whose data disks carry a file system, an array
 * and a volume group: what is kept is the same to the bit, powering off included. Then the wipe of all.
 */

const mib = 1024 * 1024;
const secret = 'the tenant before kept this here';
const osSize = 96 * mib;
const dataSize = 64 * mib;
const volumeSize = 32 * mib;
const kept = ['plain', 'raid0', 'raid1', 'lvm0', 'lvm1'] as const;
let folder = '';
let machine: BareMachine | undefined;
/** UUID of the array of `raid0` and `raid1`. */
let arrayUuid = '';

const file = (name: string): string => join(folder, `${name}.raw`);
const disks = (): readonly BareDisk[] =>
  ['os', ...kept].map((name) => ({ name, file: file(name), device: `virtio-blk-pci,serial=${name}` }));
const raid = {
  logical_disks: [
    {
      raid_level: '1',
      size_gb: 'MAX',
      controller: 'software',
      physical_disks: [{ serial: 'raid0' }, { serial: 'raid1' }],
    },
  ],
};
const RaidResult = z.object({
  logical_disks: z.tuple([z.looseObject({ root_device_hint: z.object({ wwn: z.string() }) })]),
});
const only = (serial: string, size: number, more: object = {}): object => ({
  only: { disks: [{ name: '/dev/vda', serial, size }], ...more },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-vm-wipe-'));
  await fill('os', osSize);
  // an old system's table, whose backup stands at the end
  await run('sgdisk', ['--new', '1:2048:+16M', '--new', '2:0:0', file('os')]);
  await fill('lvm0', volumeSize, recordedVolume(0));
  await fill('lvm1', volumeSize, recordedVolume(1));
  await fill('raid0', dataSize);
  await fill('raid1', dataSize);
  const contents = join(folder, 'contents');
  await mkdir(contents);
  await writeFile(join(contents, 'precious'), secret);
  await run('mke2fs', ['-q', '-t', 'ext4', '-L', 'data', '-d', contents, file('plain'), '64M']);
});
afterEach(async () => {
  await machine?.kill();
  machine = undefined;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Text in the middle and near the end, and what stands at the beginning. */
async function fill(name: string, bytes: number, head: Buffer = Buffer.alloc(0)): Promise<void> {
  const handle = await open(file(name), 'w');
  await handle.truncate(bytes);
  await handle.write(head, 0, head.length, 0);
  for (const at of [bytes / 2 + 99, bytes - 2 * mib + 17])
    await handle.write(Buffer.from(secret), 0, secret.length, at);
  await handle.close();
}

async function digests(): Promise<Record<string, string>> {
  const each = kept.map(async (name) => [
    name,
    createHash('sha256')
      .update(await readFile(file(name)))
      .digest('hex'),
  ]);
  return Object.fromEntries(await Promise.all(each)) as Record<string, string>;
}

async function boot(): Promise<BareMachine> {
  machine = await bootBareMachine(folder, disks(), { target_raid_config: raid });
  return machine;
}

/** Names of the disks on which the text stands. */
async function holdingSecret(): Promise<readonly string[]> {
  const names = ['os', ...kept];
  const found = await Promise.all(names.map(async (name) => (await readFile(file(name))).includes(secret)));
  return names.filter((_, index) => found[index]);
}

test("every disk but the operating system's is the same to the bit afterwards", async () => {
  const maker = await boot();
  const built = RaidResult.parse(await maker.clean('create_configuration', { interface: 'raid' }));
  arrayUuid = built.logical_disks[0].root_device_hint.wwn;
  await maker.powerOff();
  const before = await digests();
  const wiper = await boot();

  // nothing is touched by what is refused
  const refused = async (args: object): Promise<string> =>
    wiper.clean('erase_devices', { args }).then(
      () => 'it was not refused',
      (error: unknown) => String(error),
    );
  expect(await refused(only('GONE', osSize))).toContain('it is not in this machine. Recorded at the deploy: /dev/vda');
  expect(await refused(only('raid0', dataSize))).toMatch(
    /the RAID array .+ is on .+ \(serial raid0\).+\(serial raid1\)/,
  );
  const members = ['raid0', 'raid1'].map((serial) => ({ name: '/dev/vda', serial }));
  const another = '00000000:00000000:00000000:00000001';
  expect(await refused({ only: { disks: members, array_uuid: another } })).toContain(
    `beside the operating system's array ${another}`,
  );
  expect(await refused(only('lvm1', volumeSize))).toMatch(/the volume group data_vg is on .+lvm1.+lvm0/);

  // an array on the skip list protects its members while it is not assembled
  const others = { serial: '<or> os <or> plain <or> lvm0 <or> lvm1' };
  const protecting = (entry: object) =>
    wiper.clean('erase_devices_metadata', { properties: { skip_block_devices: [others, entry] } });
  const inventoried = (InventoryDocument.parse(await wiper.inventory()).disks ?? []).map(toKnownDisk);
  for (const entry of [{ wwn: arrayUuid }, { name: `/dev/disk/by-id/md-uuid-${arrayUuid}` }]) {
    const { erased, skipped, warnings } = await protecting(entry);
    expect([erased, warnings]).toEqual([[], []]);
    expect(skipped).toHaveLength(6);
    // the conductor sees the reason in the inventory
    const seen = inventoriedDisks({ disks: inventoried, toMeet: inventoried }, { skip_block_devices: [others, entry] });
    expect(seen.map(({ excuse }) => excuse)).toEqual(Array(6).fill(skipReasons.skipList));
  }
  await expect(protecting({ name: '/dev/md77' })).rejects.toThrow('gets a number only as it is assembled');

  const result = EraseResult.parse(await wiper.clean('erase_devices', { args: only('os', osSize) }));
  expect(result.erased).toMatchObject([{ serial: 'os', bytes: osSize, proof: { canaries: 64, reads: 'zeros' } }]);
  expect(new Set(result.skipped.map(({ serial, reason }) => `${serial}: ${reason}`))).toEqual(
    new Set(kept.map((name) => `${name}: local storage is preserved`)),
  );
  await wiper.powerOff();
  expect(await digests()).toEqual(before);
  expect((await readFile(file('os'))).equals(Buffer.alloc(osSize)), 'the disk reads as zeros').toBe(true);
  // and whether the array's members do is the wipe of all's to know
  expect(await holdingSecret()).toEqual(expect.arrayContaining(['plain', 'lvm0', 'lvm1']));
});

test('an operating system on an array goes with all members; then nothing is left to read on any disk', async () => {
  for (const name of ['raid0', 'raid1']) {
    const handle = await open(file(name), 'r+');
    await handle.write(Buffer.from(secret), 0, secret.length, 40 * mib + 5);
    await handle.close();
  }
  const wiper = await boot();
  const members = ['raid0', 'raid1'].map((serial) => ({ name: '/dev/vda', serial, size: dataSize }));
  const onArray = await wiper.clean('erase_devices', { args: { only: { disks: members, array_uuid: arrayUuid } } });
  expect(new Set(EraseResult.parse(onArray).erased.map(({ serial }) => serial))).toEqual(new Set(['raid0', 'raid1']));
  expect(await holdingSecret()).toEqual(['plain', 'lvm0', 'lvm1']);

  const result = EraseResult.parse(await wiper.clean('erase_devices'));
  expect(new Set(result.erased.map(({ serial }) => serial))).toEqual(new Set(['os', ...kept]));
  expect(result.erased.every(({ proof }) => proof?.reads === 'zeros' && proof.canaries === 64)).toBe(true);
  expect(result.skipped).toEqual([]);
  expect(await holdingSecret()).toEqual([]);
});
