import { describe, expect, test } from 'vitest';
import { planDestroys } from '#conductor/flows/plan/plan-destroys.ts';
import type { PlannedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type KnownDisk, toKnownDisk } from '#conductor/model/known-disk.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

const gib = 1024 ** 3;
const raid1 = { raid_level: '1', size_gb: 'MAX', controller: 'software' };

function step(key: string, args: JsonObject = {}): PlannedStep {
  const [stepInterface = '', name = ''] = key.split('.');
  return {
    interface: stepInterface,
    step: name,
    priority: 50,
    args,
    origin: 'request',
    inBand: true,
    abortable: true,
    rebootRequested: false,
    reason: '',
  };
}
const write = step('deploy.write_image');

function inventory(...disks: readonly object[]): KnownDisk[] {
  return (InventoryDocument.parse({ interfaces: [], disks }).disks ?? []).map(toKnownDisk);
}
const content = (name: string, type: string) => ({ name, type, size: null, label: null });
const disk = (letter: string, sizeGib: number, more: object = {}) => ({
  name: `/dev/sd${letter}`,
  size: sizeGib * gib,
  serial: letter.toUpperCase(),
  baton_contents: [],
  ...more,
});
const plain = inventory(disk('a', 100), disk('b', 20), disk('c', 100));
/** A mirror on a and b, and a disk beside it. */
const mirrored = inventory(
  { name: '/dev/md0', size: 9 * gib, wwn: 'md-uuid', baton_contents: [content('/dev/md0', 'ext4')] },
  ...['a', 'b'].map((letter) =>
    disk(letter, 10, {
      baton_contents: [content(`/dev/sd${letter}1`, 'linux_raid_member'), content('/dev/md0', 'raid1')],
    }),
  ),
  disk('c', 10, { baton_contents: [content('/dev/sdc', 'ext4')] }),
);

interface Node {
  readonly properties?: JsonObject;
  readonly instanceInfo?: JsonObject;
  readonly targetRaidConfig?: JsonObject;
  readonly osDisk?: OsDisk;
}
function destroys(steps: readonly PlannedStep[], disks: readonly KnownDisk[] | undefined, node: Node = {}) {
  const plan = planDestroys(steps, {
    disks,
    node: { properties: {}, instanceInfo: {}, targetRaidConfig: {}, ...node },
  });
  const by = Object.fromEntries(plan.disks.map((each) => [each.disk.name.replace('/dev/', ''), each.by.join(' ')]));
  return { by, warnings: plan.warnings };
}

describe('the skip list', () => {
  const plan = (
    steps: readonly PlannedStep[],
    properties: JsonObject,
    undrivenStorage: readonly string[] | null = [],
  ) =>
    planDestroys(steps, {
      disks: plain,
      undrivenStorage,
      node: { properties, instanceInfo: {}, targetRaidConfig: {} },
    });
  const properties = { skip_block_devices: [{ serial: 'b' }, { serial: 'GONE' }] };

  test('says what each entry protects, and warns of one that protects nothing', () => {
    const { protection, warnings } = plan([write], properties);
    expect(protection.map(({ devices }) => devices)).toEqual([['/dev/sdb'], []]);
    expect(warnings).toEqual([
      'properties.skip_block_devices[1] {"serial":"GONE"} names no disk of this machine: nothing is protected by it ' +
        '(as last inventoried).',
    ]);
    expect(plan([], properties)).toMatchObject({ protection: [], warnings: [] });
  });

  test('protects the members of an array that is not assembled, and is not known where no inventory says which it is', () => {
    const uuid = '725d4de6:84e9294c:a148f1e4:4f2cf4d3';
    const known = { baton_resting_arrays: [{ uuids: [uuid], names: [`/dev/disk/by-id/md-uuid-${uuid}`] }] };
    const planOf = (more: object, hints: object) =>
      planDestroys([step('deploy.erase_devices_metadata')], {
        disks: inventory(disk('a', 9, more), disk('b', 9, more), disk('c', 9)),
        node: { properties: { skip_block_devices: [hints] }, instanceInfo: {}, targetRaidConfig: {} },
      });
    for (const hints of [{ wwn: uuid }, { name: `/dev/disk/by-id/md-uuid-${uuid}` }]) {
      const { disks, protection, warnings } = planOf(known, hints);
      expect(disks.map(({ disk: { name } }) => name)).toEqual(['/dev/sdc']);
      expect(protection).toMatchObject([{ devices: ['/dev/sda', '/dev/sdb'] }]);
      expect(warnings).toEqual([]);
    }
    const untold = { baton_contents: null };
    expect(planOf(untold, { wwn: uuid })).toMatchObject({
      disks: [],
      warnings: [expect.stringContaining('its inventory does not say which RAID array it is in')],
    });
    expect(planOf(untold, { serial: 'a' }).disks).toHaveLength(2);
    expect(plan([write], { skip_block_devices: [{ size: 'x' }] }).warnings).toEqual([
      expect.stringContaining('properties.skip_block_devices[0].size is "x"'),
    ]);
  });

  test('that may speak of a disk which was not read is a warning of the image, too', () => {
    const disks = inventory(disk('a', 9), disk('b', 10, { serial: null, baton_unread: 'udevadm hangs' }));
    const node = { properties, instanceInfo: {}, targetRaidConfig: {} };
    const { disks: lost, warnings } = planDestroys([write], { disks, node });
    expect(lost).toMatchObject([{ disk: { name: '/dev/sda' } }]);
    expect(warnings).toEqual([
      expect.stringMatching(/^Which disks the skip list protects is not known: .* names \/dev\/sdb .*udevadm hangs/),
    ]);
  });

  test('is not all: controllers without a driver are named', () => {
    expect(plan([write], {}, ['SD Host controller 0000:00:12.0 has no driver']).warnings).toEqual([
      'SD Host controller 0000:00:12.0 has no driver (as last inventoried).',
    ]);
    expect(plan([write], {}, null).warnings).toEqual([
      expect.stringMatching(/^Whether a storage controller has no driver .* is not known \(as last inventoried\)\.$/),
    ]);
    expect(plan([write], {}, []).warnings).toEqual([]);
  });
});

describe('write_image', () => {
  test('costs the disk that the agent would choose', () => {
    expect(destroys([write], plain)).toEqual({ by: { sdb: 'deploy.write_image' }, warnings: [] });
    const properties = { root_device: { serial: 'c' } };
    expect(destroys([write], plain, { properties }).by).toEqual({ sdc: 'deploy.write_image' });
    const instanceInfo = { root_device: { serial: 'a' } };
    expect(destroys([write], plain, { properties, instanceInfo }).by).toEqual({ sda: 'deploy.write_image' });
    const skipping = { skip_block_devices: [{ serial: 'b' }] };
    expect(destroys([write], plain, { properties: skipping }).by).toEqual({ sda: 'deploy.write_image' });
  });

  test('onto a volume costs what its members hold', () => {
    const properties = { root_device: { wwn: 'md-uuid' } };
    expect(destroys([write], mirrored, { properties }).by).toEqual({
      md0: 'deploy.write_image',
      sda: 'deploy.write_image',
      sdb: 'deploy.write_image',
    });
  });

  test('where no disk fits says why', () => {
    expect(destroys([write], plain, { properties: { root_device: { serial: 'x' } } })).toEqual({
      by: {},
      warnings: [
        expect.stringMatching(/^Which disks deploy\.write_image overwrites is not known: no disk .* wanted x/),
      ],
    });
    expect(destroys([write], plain, { properties: { root_device: { colour: 'x' } } }).warnings).toEqual([
      expect.stringContaining('properties.root_device.colour is not a known hint'),
    ]);
    expect(destroys([write], undefined)).toEqual({ by: {}, warnings: [] });
  });

  test('leaves out what an inventory says can be pulled out', () => {
    expect(destroys([write], inventory(disk('a', 100), disk('b', 8, { baton_removable: true }))).by).toEqual({
      sda: 'deploy.write_image',
    });
  });

  test('of another agent’s inventory, which does not tell what stands on the disks, warns', () => {
    expect(destroys([write], inventory(disk('a', 100, { baton_contents: null })))).toEqual({
      by: { sda: 'deploy.write_image' },
      warnings: ['What uses /dev/sda is not known: /dev/sda is treated as the root disk, as if unused.'],
    });
  });
});

describe('erase steps', () => {
  test('cost all disks but the skip list, and volumes with their members', () => {
    const erase = step('deploy.erase_devices_metadata');
    const properties = { skip_block_devices: [{ serial: 'c' }] };
    const all = { md0: 'deploy.erase_devices_metadata', sda: expect.anything(), sdb: expect.anything() } as object;
    expect(destroys([erase], mirrored, { properties })).toEqual({ by: all, warnings: [] });
    const removable = inventory(disk('a', 9, { baton_removable: true }));
    expect(destroys([erase], removable).by).toEqual({ sda: 'deploy.erase_devices_metadata' });
    const medium = inventory(disk('a', 9, { tran: 'usb', model: 'Virtual HDisk0' }));
    expect(destroys([erase], medium).by).toEqual({});
  });

  test('spare the members of a volume on the skip list', () => {
    const properties = { skip_block_devices: [{ wwn: 'md-uuid' }] };
    const erase = step('deploy.erase_devices_metadata');
    expect(Object.keys(destroys([erase], mirrored, { properties }).by)).toEqual(['sdc']);
  });

  test('free the members for what comes after them', () => {
    const erase = step('deploy.erase_devices_metadata');
    const properties = { skip_block_devices: [{ serial: 'c' }] };
    expect(destroys([erase, write], mirrored, { properties }).by).toMatchObject({
      sda: 'deploy.erase_devices_metadata deploy.write_image',
      sdb: 'deploy.erase_devices_metadata',
    });
  });

  test('with a skip list that is wrong destroy nothing', () => {
    const properties = { skip_block_devices: 'sda' };
    expect(destroys([step('deploy.erase_devices')], plain, { properties })).toEqual({
      by: {},
      warnings: [expect.stringContaining('skip_block_devices must be a list')],
    });
  });

  test('that are run out of band are not the agent’s', () => {
    expect(destroys([{ ...step('deploy.erase_devices'), inBand: false }], plain).by).toEqual({});
  });
});

describe('steps of the ramdisk’s own', () => {
  const warning = "What vendor.flash does to the disks is not known: it is a step of this ramdisk's own.";

  test('are warned of, once, whether the disks are known or not', () => {
    const flash = step('vendor.flash');
    expect(destroys([flash, write, flash], plain)).toEqual({ by: { sdb: 'deploy.write_image' }, warnings: [warning] });
    expect(destroys([flash], undefined)).toEqual({ by: {}, warnings: [warning] });
  });

  test('are believed when they say what they destroy, before what Ironic’s steps of that name do', () => {
    const flash = step('vendor.flash');
    expect(destroys([{ ...flash, destroys: 'none' }], plain)).toEqual({ by: {}, warnings: [] });
    expect(destroys([{ ...flash, destroys: 'root disk' }], plain).by).toEqual({ sdb: 'vendor.flash' });
    expect(Object.keys(destroys([{ ...flash, destroys: 'all' }], plain).by)).toEqual(['sda', 'sdb', 'sdc']);
    expect(destroys([{ ...step('deploy.burnin_disk'), destroys: 'none' }], plain).by).toEqual({});
  });

  test('other than what is known to do no harm, or runs out of band', () => {
    const boot: PlannedStep = { ...step('deploy.prepare_instance_boot'), destroys: 'none' };
    const steps = [step('deploy.burnin_cpu'), step('bios.apply_configuration'), boot];
    expect(destroys([...steps, { ...step('vendor.flash'), inBand: false }], plain).warnings).toEqual([]);
  });
});

describe('RAID', () => {
  const apply = (volume: object, more: JsonObject = {}) =>
    step('raid.apply_configuration', { raid_config: { logical_disks: [{ ...raid1, ...volume }] }, ...more });

  test('costs the disks that its hints name, or all; the volume becomes the root disk', () => {
    const named = apply({ volume_name: 'root', physical_disks: [{ serial: 'a' }, { serial: 'c' }] });
    expect(destroys([named, write], plain)).toEqual({
      by: { sda: 'raid.apply_configuration', sdc: 'raid.apply_configuration' },
      warnings: ['deploy.write_image writes to the RAID volume "root" that raid.apply_configuration makes.'],
    });
    expect(Object.keys(destroys([apply({})], plain).by)).toEqual(['sda', 'sdb', 'sdc']);
  });

  test('the instance’s own hints still choose among what is left', () => {
    const named = apply({ physical_disks: [{ serial: 'a' }, { serial: 'c' }] });
    const instanceInfo = { root_device: { size: '>= 1' } };
    expect(destroys([named, write], plain, { instanceInfo }).by).toMatchObject({ sdb: 'deploy.write_image' });
    expect(destroys([apply({}), write], plain, { instanceInfo }).warnings).toEqual([
      expect.stringContaining('it is used by the RAID volume that raid.apply_configuration makes'),
    ]);
  });

  test('erased again is not a root disk', () => {
    const { by, warnings } = destroys([apply({}), step('deploy.erase_devices_metadata'), write], plain);
    expect(by['sdb']).toBe('raid.apply_configuration deploy.erase_devices_metadata deploy.write_image');
    expect(warnings).toEqual([]);
  });

  test('on the skip list stays, and so do its members and the disks behind other paths', () => {
    const properties = { skip_block_devices: [{ wwn: 'md-uuid' }] };
    const twin = disk('d', 10, { serial: 'A' });
    const four = [...mirrored, ...inventory(twin, disk('e', 10))];
    expect(destroys([step('raid.delete_configuration')], mirrored, { properties }).by).toEqual({});
    expect(Object.keys(destroys([apply({})], four, { properties }).by)).toEqual(['sdc', 'sde']);
  });

  test('that is there goes first, unless it is to stay', () => {
    const named = { physical_disks: [{ serial: 'a' }, { serial: 'c' }] };
    expect(Object.keys(destroys([apply(named)], mirrored).by)).toEqual(['md0', 'sda', 'sdb', 'sdc']);
    const onlyNew = apply({ physical_disks: [{ serial: 'c' }, { serial: 'd' }] }, { delete_existing: false });
    const four = [...mirrored, ...inventory(disk('d', 10))];
    expect(Object.keys(destroys([onlyNew], four).by)).toEqual(['sdc', 'sdd']);
    expect(Object.keys(destroys([step('raid.delete_configuration')], mirrored).by)).toEqual(['md0', 'sda', 'sdb']);
  });

  test('of a cleaning is the node’s', () => {
    const targetRaidConfig = { logical_disks: [raid1] };
    const create = step('raid.create_configuration');
    expect(Object.keys(destroys([create], plain, { targetRaidConfig }).by)).toEqual(['sda', 'sdb', 'sdc']);
    expect(destroys([create], plain).warnings).toEqual([expect.stringContaining('target_raid_config')]);
  });

  test('of a controller is not the agent’s', () => {
    const volume = { raid_level: '1', size_gb: 10 };
    expect(destroys([step('raid.apply_configuration', { raid_config: { logical_disks: [volume] } })], plain)).toEqual({
      by: {},
      warnings: [],
    });
  });
});

test('a partition is told from what is made of it', () => {
  const [md1, nvme] = inventory(
    {
      name: '/dev/md1',
      baton_contents: [content('/dev/md1', 'gpt'), content('/dev/md1p1', 'ext4'), content('/dev/md12', 'raid0')],
    },
    {
      name: '/dev/nvme0n1',
      baton_contents: [content('/dev/nvme0n1p1', 'crypto_LUKS'), content('/dev/mapper/x', 'crypt')],
    },
  );
  expect(md1).toMatchObject({ type: 'raid', holders: ['/dev/md12'] });
  expect(nvme).toMatchObject({ type: 'disk', holders: ['/dev/mapper/x'] });
});

test('a wipe destroys all disks but the skip list, or those of the operating system alone', () => {
  const all = destroys([step('deploy.wipe_disks')], plain, {
    properties: { skip_block_devices: [{ serial: 'B' }] },
  });
  expect(all).toMatchObject({ by: { sda: 'deploy.wipe_disks', sdc: 'deploy.wipe_disks' } });
  const preserving = step('deploy.wipe_disks', { preserve_local_storage: true });
  const osDisk = OsDisk.parse({ disks: [{ name: '/dev/sdz', serial: 'B' }] });
  expect(destroys([preserving], plain, { osDisk })).toMatchObject({ by: { sdb: 'deploy.wipe_disks' } });
  // which one it is, nobody knows: nothing is told to be destroyed, and why
  expect(destroys([preserving], plain)).toMatchObject({
    by: {},
    warnings: [expect.stringContaining('Which disks deploy.wipe_disks overwrites is not known') as unknown],
  });
});
