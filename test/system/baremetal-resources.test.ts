import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBaremetal } from '#test/support/baremetal.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';

/** Debian's real `baremetal` CLI manages what stands beside nodes, against a conductor process. */

let conductor: ConductorProcess;
let count = 0;
let name: string;
let uuid: string;
const { text, json, rows, failure, close } = createBaremetal(() => conductor.url);

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
});
afterAll(async () => {
  await close();
  await conductor.close();
});
beforeEach(async () => {
  count += 1;
  name = `resources-${count}`;
  uuid = String((await json('node', 'create', '--driver', 'fake-hardware', '--name', name))['uuid']);
});

const steps = [{ interface: 'bios', step: 'apply_configuration', args: { settings: [] }, priority: 150 }];

test('deploy templates', async () => {
  const template = ['deploy', 'template'];
  const made = await json(...template, 'create', 'CUSTOM_FAST', '--steps', JSON.stringify(steps), '--extra', 'a=1');
  expect(made).toMatchObject({ name: 'CUSTOM_FAST', steps, extra: { a: 1 } });
  expect(await failure(...template, 'create', 'CUSTOM_FAST', '--steps', JSON.stringify(steps))).toContain(
    'A deploy template with name CUSTOM_FAST already exists.',
  );
  expect(await failure(...template, 'create', 'fast', '--steps', JSON.stringify(steps))).toContain('must be CUSTOM_');
  const raid = [{ interface: 'raid', step: 'apply_configuration', args: {}, priority: 90 }];
  await text(...template, 'set', 'CUSTOM_FAST', '--name', 'CUSTOM_SAFE', '--steps', JSON.stringify(raid));
  await text(...template, 'unset', 'CUSTOM_SAFE', '--extra', 'a');
  expect(await json(...template, 'show', String(made['uuid']))).toMatchObject({
    name: 'CUSTOM_SAFE',
    steps: raid,
    extra: {},
  });
  expect(await text(...template, 'list', '-f', 'value')).toBe(`${String(made['uuid'])} CUSTOM_SAFE\n`);
  expect(await text(...template, 'list', '--long')).toContain('apply_configuration');
  await text(...template, 'delete', 'CUSTOM_SAFE');
  expect(await failure(...template, 'show', 'CUSTOM_SAFE')).toContain(
    'Deploy template CUSTOM_SAFE could not be found.',
  );
});

test('boot mode, secure boot and an interrupt', async () => {
  await text('node', 'boot', 'mode', 'set', name, 'uefi');
  await text('node', 'secure', 'boot', 'on', name);
  await expect
    .poll(() => json('node', 'show', name, '--fields', 'boot_mode', 'secure_boot'))
    .toEqual({ boot_mode: 'uefi', secure_boot: true });
  await text('node', 'inject', 'nmi', name);
});

test('volume connectors and targets', async () => {
  const connector = ['--node', uuid, '--type', 'iqn', '--connector-id'];
  const made = await json('volume', 'connector', 'create', ...connector, `iqn.2026-11.example:${count}`);
  await text('volume', 'connector', 'set', String(made['uuid']), '--connector-id', `iqn.2026-11.example:b${count}`);
  expect(await json('volume', 'connector', 'show', String(made['uuid']))).toMatchObject({
    node_uuid: uuid,
    connector_id: `iqn.2026-11.example:b${count}`,
  });
  expect(await text('volume', 'connector', 'list', '--node', uuid, '-f', 'value')).toContain('iqn.2026-11.example:b');

  const target = ['--node', uuid, '--type', 'iscsi', '--boot-index', '0', '--volume-id'];
  const secret = ['--property', 'auth_password=secret', '--property', 'target_lun=1'];
  const volume = await json('volume', 'target', 'create', ...target, 'vol-1', ...secret);
  expect(volume).toMatchObject({ boot_index: 0, properties: { auth_password: '******', target_lun: 1 } });
  expect(await failure('volume', 'target', 'create', ...target, 'vol-2')).toContain(
    "A volume target with boot index '0' for the same node already exists.",
  );
  await text('volume', 'target', 'set', String(volume['uuid']), '--boot-index', '1', '--property', 'target_lun=2');
  expect(await text('volume', 'target', 'list', '--long')).toContain('vol-1');
  expect(await json('volume', 'target', 'show', String(volume['uuid']))).toMatchObject({
    boot_index: 1,
    properties: { target_lun: 2 },
  });
  await text('volume', 'target', 'delete', String(volume['uuid']));
  await text('volume', 'connector', 'delete', String(made['uuid']));
  expect(await text('volume', 'target', 'list', '--node', uuid, '-f', 'value')).toBe('');
});

test('the target RAID configuration of a node', async () => {
  const mirror = { logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software' }] };
  await text('node', 'set', name, '--target-raid-config', JSON.stringify(mirror));
  expect(await json('node', 'show', name)).toMatchObject({ target_raid_config: mirror, raid_config: {} });
  const wrong = { logical_disks: [{ size_gb: 1, raid_level: '9' }] };
  expect(await failure('node', 'set', name, '--target-raid-config', JSON.stringify(wrong))).toContain(
    'logical_disks[0].raid_level must be one of',
  );
  await text('node', 'unset', name, '--target-raid-config');
  expect(await json('node', 'show', name)).toMatchObject({ target_raid_config: {} });
  expect(await text('driver', 'raid', 'property', 'list', 'fake-hardware')).toContain('raid_level');
});

test('port groups and their ports', async () => {
  const bond = `bond-${count}`;
  const made = await json('port', 'group', 'create', '--node', uuid, '--name', bond, '--mode', '802.3ad');
  expect(made).toMatchObject({ name: bond, mode: '802.3ad', node_uuid: uuid, standalone_ports_supported: true });
  const group = String(made['uuid']);
  const mac = `52:54:00:cc:00:${count.toString(16).padStart(2, '0')}`;
  const port = await json('port', 'create', '--node', uuid, '--port-group', group, mac);
  expect(port).toMatchObject({ portgroup_uuid: group });
  expect(await rows('port', 'list', '--port-group', bond)).toEqual([{ UUID: port['uuid'], Address: mac }]);
  await text('port', 'group', 'set', bond, '--property', 'miimon=100');
  await text('port', 'group', 'unset', bond, '--property', 'miimon');
  expect(await failure('port', 'group', 'set', bond, '--unsupport-standalone-ports')).toContain('HTTP 409');
  expect(await failure('port', 'group', 'delete', bond)).toContain('contains ports');
  await text('port', 'delete', String(port['uuid']));
  await text('port', 'group', 'delete', group);
  expect(await rows('port', 'group', 'list', '--node', uuid)).toEqual([]);
});

test('chassis and the nodes in them', async () => {
  const { uuid: chassis } = await json('chassis', 'create', '--description', 'rack 7', '--extra', 'row=2');
  await text('node', 'set', name, '--chassis-uuid', String(chassis));
  expect(await json('node', 'show', name)).toMatchObject({ chassis_uuid: chassis });
  expect((await rows('node', 'list', '--chassis', String(chassis))).map((node) => node['UUID'])).toEqual([uuid]);
  await text('chassis', 'set', String(chassis), '--description', 'rack 8');
  expect(await failure('chassis', 'delete', String(chassis))).toContain('contains nodes');
  await text('node', 'unset', name, '--chassis-uuid');
  expect(await json('chassis', 'show', String(chassis))).toMatchObject({ description: 'rack 8', extra: { row: 2 } });
  await text('chassis', 'delete', String(chassis));
  expect(await rows('chassis', 'list')).toEqual([]);
});

test('conductors, drivers, and nodes by owner', async () => {
  const [conductorRow] = await rows('conductor', 'list');
  expect(conductorRow).toMatchObject({ Alive: true });
  expect(await json('conductor', 'show', String(conductorRow?.['Hostname']))).toMatchObject({ alive: true });
  expect(await text('driver', 'list', '-f', 'value')).toContain('fake-hardware');
  expect(await json('driver', 'show', 'redfish')).toMatchObject({ name: 'redfish' });
  expect(await text('driver', 'property', 'list', 'redfish')).toContain('redfish_address');
  await text('node', 'set', name, '--owner', 'team-a', '--lessee', 'team-b');
  for (const filter of [
    ['--owner', 'team-a'],
    ['--lessee', 'team-b'],
  ]) {
    expect((await rows('node', 'list', ...filter)).map((node) => node['Name'])).toEqual([name]);
  }
  await text('node', 'unset', name, '--owner', '--lessee');
  expect(await rows('node', 'list', '--owner', 'team-a')).toEqual([]);
});
