import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBaremetal } from '#test/support/baremetal.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';

/** Deploy templates, volumes and RAID targets by Debian's real `baremetal` CLI against a conductor process. */

let conductor: ConductorProcess;
let count = 0;
let name: string;
let uuid: string;
const { text, json, failure } = createBaremetal(() => conductor.url);

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
});
afterAll(() => conductor.close());
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
