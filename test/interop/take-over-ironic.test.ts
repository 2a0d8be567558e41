import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { debian13 } from '#test/interop/debian-13.ts';
import { type IronicOnMariadb, startIronicOnMariadb } from '#test/interop/ironic-on-mariadb.ts';
import { loggedErrors } from '#test/interop/logged-errors.ts';
import { createMemoryMachine, type MemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';

/**
 * A real Ironic 29 on MariaDB is taken over while its machines run on, and taken back: their BMCs are asked, and told
 * nothing.
 */

interface Machine {
  readonly bmc: RedfishSimulator;
  readonly machine: MemoryMachine;
  readonly mac: string;
}

const names = ['web', 'db', 'spare', 'rest', 'fresh', 'washing'] as const;
type Name = (typeof names)[number];
const link = { switch_id: '00:1c:73:00:00:01', port_id: 'Ethernet7' };
const instance = '22222222-2222-4222-8222-222222222222';

let folder: string;
let ironic: IronicOnMariadb;
let here: ConductorInProcess;
let operator: Operator;
let images: Server;
let machines: Readonly<Record<Name, Machine>>;

beforeAll(async () => {
  const tree = await debian13();
  folder = await mkdtemp(join(tmpdir(), 'baton-take-over-'));
  await mkdir(join(folder, 'ironic'));
  await mkdir(join(folder, 'bin'));
  // this machine has no client of MariaDB
  const client = join(folder, 'bin/mariadb');
  await writeFile(client, `#!/bin/sh\nexec chroot '${tree}' /usr/bin/mariadb --no-defaults "$@"\n`);
  await chmod(client, 0o755);
  images = createServer((request, response) => {
    response.writeHead(200, { 'Content-Length': 4 }).end(request.method === 'HEAD' ? undefined : 'boot');
  }).listen(0, '127.0.0.1');
  await once(images, 'listening');
  const started = names.map(async (name, index): Promise<[Name, Machine]> => {
    const machine = createMemoryMachine();
    const bmc = await startRedfishSimulator({ machine, username: 'admin', password: `of ${name}` });
    return [name, { bmc, machine, mac: `52:54:00:00:3c:0${index}` }];
  });
  machines = Object.fromEntries(await Promise.all(started)) as Record<Name, Machine>;
  here = await startConductorInProcess({ log: silentLog });
  operator = createOperator(here.url);
  ironic = await startIronicOnMariadb(join(folder, 'ironic'), tree);
});
afterAll(async () => {
  await ironic?.close();
  await here?.close();
  await Promise.all(Object.values(machines ?? {}).map(({ bmc }) => bmc.close()));
  images?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

const baton = (...args: readonly string[]): Promise<RunResult> =>
  run(batonProgram, args, {
    env: { BATON_URL: here.url, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
    okExitCodes: [0, 1, 2],
    timeoutMs: 600_000,
  });
const importIronic = (...more: readonly string[]): Promise<RunResult> =>
  baton('import', 'ironic', ironic.url, '--database', ironic.readerUrl, ...more);

const imageUrl = (name: string): string => `http://127.0.0.1:${(images.address() as AddressInfo).port}/${name}`;
const provision = (name: Name, target: string, more: object = {}) =>
  ironic.call('PUT', `/v1/nodes/${name}/states/provision`, { target, ...more });

/** Makes a node with a port in Ironic, up to manageable; nothing is patched, for Debian's 29.0.5 then makes a node its own parent. */
async function enrol(name: Name, more: object = {}, ofPort: object = {}): Promise<string> {
  const { bmc, mac } = machines[name];
  const { driver_info: info = {}, ...fields } = more as { driver_info?: object };
  const { uuid } = await ironic.call('POST', '/v1/nodes', {
    name,
    driver: 'redfish',
    driver_info: {
      redfish_address: bmc.address,
      redfish_username: 'admin',
      redfish_password: `of ${name}`,
      deploy_kernel: imageUrl('vmlinuz'),
      deploy_ramdisk: imageUrl('initrd'),
      ...info,
    },
    properties: { capabilities: 'boot_mode:uefi', cpu_arch: 'x86_64' },
    ...fields,
  });
  await ironic.call('POST', '/v1/ports', { node_uuid: uuid, address: mac, ...ofPort });
  if (name === 'fresh') return String(uuid);
  await provision(name, 'manage');
  await ironic.rest(name, 'manageable');
  return String(uuid);
}

/** Brings Ironic's fleet to where a site's is: two instances, resting machines, and one amid a cleaning. */
async function fillIronic(): Promise<void> {
  await enrol(
    'web',
    {
      deploy_interface: 'ramdisk',
      resource_class: 'gold',
      description: 'the shop',
      extra: { rack: 'r7' },
      instance_info: { kernel: imageUrl('kernel'), ramdisk: imageUrl('ramdisk') },
    },
    { local_link_connection: link, physical_network: 'physnet1' },
  );
  await ironic.call('PUT', '/v1/nodes/web/traits/CUSTOM_FAST');
  await provision('web', 'provide');
  await ironic.rest('web', 'available');
  await ironic.call('POST', '/v1/allocations', { name: 'web', resource_class: 'gold', traits: ['CUSTOM_FAST'] });
  await expect.poll(async () => (await ironic.call('GET', '/v1/allocations/web'))['state']).toBe('active');
  await provision('web', 'active');
  await ironic.rest('web', 'active');
  // its system was there before Ironic
  await machines.db.machine.setPower('on');
  await enrol('db', {
    resource_class: 'gold',
    instance_uuid: instance,
    instance_info: { image_source: imageUrl('db.raw'), image_checksum: 'd41d8cd98f00b204e9800998ecf8427e' },
  });
  await provision('db', 'adopt');
  await ironic.rest('db', 'active');
  const spare = await enrol('spare', { resource_class: 'silver' });
  const group = { node_uuid: spare, name: 'spare-bond0', mode: '802.3ad', address: '52:54:00:00:3c:0f' };
  const { uuid: groupUuid } = await ironic.call('POST', '/v1/portgroups', group);
  await ironic.call('POST', '/v1/ports', {
    node_uuid: spare,
    address: '52:54:00:00:3c:0e',
    portgroup_uuid: groupUuid,
    pxe_enabled: false,
  });
  await provision('spare', 'provide');
  await ironic.rest('spare', 'available');
  await ironic.call('PUT', '/v1/nodes/spare/maintenance', { reason: 'new fans' });
  await enrol('rest');
  await enrol('fresh');
  await enrol('washing');
  await provision('washing', 'clean', { clean_steps: [{ interface: 'deploy', step: 'erase_devices_metadata' }] });
  await ironic.rest('washing', 'clean wait');
  await ironic.call('POST', '/v1/deploy_templates', {
    name: 'CUSTOM_RAID1',
    steps: [{ interface: 'deploy', step: 'write_image', args: {}, priority: 80 }],
  });
  await ironic.call('POST', '/v1/chassis', { description: 'row 7' });
}

const sessions = '/redfish/v1/SessionService/Sessions';

/** Requests that a BMC has had since, but looks and logins. */
const orders = (since: Readonly<Record<Name, number>>): string[] =>
  names.flatMap((name) =>
    machines[name].bmc.requests
      .slice(since[name])
      .filter(({ method, path }) => !/^(GET|HEAD)$/.test(method) && !path.startsWith(sessions))
      .map(({ method, path, body }) => `${name}: ${method} ${path} ${body}`),
  );
const counts = (): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, machines[name].bmc.requests.length])) as Record<Name, number>;
const lives = () =>
  names.map((name) => [name, machines[name].machine.getPower(), [...machines[name].machine.actions]] as const);

test('active nodes come over and go back while their machines run on', async () => {
  await fillIronic();
  const [before, since] = [lives(), counts()];
  expect(before.filter(([, power]) => power === 'on').map(([name]) => name)).toEqual(['web', 'db', 'washing']);

  const masked = await baton('import', 'ironic', ironic.url);
  expect(masked.stdout).toMatch(/^web +redfish +active +enroll +1 +driver_info\.redfish_password \(masked there\)$/m);
  const dry = await importIronic();
  expect(dry).toMatchObject({ exitCode: 0, stderr: '' });
  expect(dry.stdout).toMatch(/^web +redfish +active +active +1 +-$/m);
  expect(dry.stdout).toMatch(/^db +redfish +active +active +1 +-$/m);
  expect(dry.stdout).toMatch(/^spare +redfish +available +manageable +2 +-$/m);
  expect(dry.stdout).toMatch(/^rest +redfish +manageable +manageable +1 +-$/m);
  expect(dry.stdout).toMatch(/^fresh +redfish +enroll +enroll +1 +-$/m);
  expect(dry.stdout).toMatch(
    /^washing +redfish +clean wait +- +1 +it is in clean wait there: let that end, or abort it$/m,
  );
  expect(dry.stdout).toContain(
    '2 nodes adopted, 2 manageable, 1 in enroll, 1 refused, 1 deploy template, 1 allocation',
  );
  expect(dry.stdout).toContain('does not come: chassis: 1');
  expect((await operator.call('GET', '/v1/nodes'))['nodes']).toEqual([]);

  const done = await importIronic('--yes');
  expect(done.stderr).toContain('1 of 6 nodes are not as Ironic has them: washing (it is in clean wait there');
  expect(done.stdout.trimEnd().split('\n').sort()).toEqual([
    'db: created, active: port 52:54:00:00:3c:01',
    'fresh: created, enroll: port 52:54:00:00:3c:04',
    'rest: created, manageable: port 52:54:00:00:3c:03',
    expect.stringMatching(/^spare: created, manageable: port group spare-bond0, port .*, port .*, maintenance$/),
    'web: created, active: port 52:54:00:00:3c:00, trait CUSTOM_FAST, allocation web',
  ]);

  const theirs = await ironic.call('GET', '/v1/nodes/web');
  expect(await operator.node('web')).toMatchObject({
    uuid: theirs['uuid'],
    provision_state: 'active',
    power_state: 'power on',
    maintenance: false,
    resource_class: 'gold',
    traits: ['CUSTOM_FAST'],
    description: 'the shop',
    extra: { rack: 'r7', imported_from: 'Ironic' },
    deploy_interface: 'ramdisk',
    boot_interface: 'ipxe',
    instance_uuid: theirs['instance_uuid'],
    allocation_uuid: theirs['allocation_uuid'],
    instance_info: { kernel: imageUrl('kernel'), ramdisk: imageUrl('ramdisk') },
  });
  expect(await operator.node('db')).toMatchObject({
    provision_state: 'active',
    power_state: 'power on',
    instance_uuid: instance,
    instance_info: { image_source: imageUrl('db.raw') },
  });
  expect(await operator.node('spare')).toMatchObject({
    provision_state: 'manageable',
    power_state: 'power off',
    maintenance_reason: 'new fans',
  });
  expect((await operator.call('GET', '/v1/nodes/web/ports?detail=true'))['ports']).toMatchObject([
    { address: machines.web.mac, local_link_connection: link, physical_network: 'physnet1' },
  ]);
  const [group] = (await operator.call('GET', '/v1/nodes/spare/portgroups?detail=true'))['portgroups'] as object[];
  expect(group).toMatchObject({ name: 'spare-bond0', mode: '802.3ad', address: '52:54:00:00:3c:0f' });
  expect((await operator.call('GET', '/v1/nodes/spare/ports?detail=true'))['ports']).toContainEqual(
    expect.objectContaining({
      address: '52:54:00:00:3c:0e',
      pxe_enabled: false,
      portgroup_uuid: Reflect.get(group ?? {}, 'uuid'),
    }),
  );
  expect(await operator.call('GET', '/v1/allocations/web')).toMatchObject({ state: 'active', resource_class: 'gold' });
  expect(await operator.call('GET', '/v1/deploy_templates/CUSTOM_RAID1')).toMatchObject({
    steps: [{ step: 'write_image', priority: 80 }],
  });
  expect([lives(), orders(since)]).toEqual([before, []]);

  const again = await importIronic('--yes');
  expect(again.stdout.trimEnd().split('\n').sort()).toEqual([
    'db: unchanged, active',
    'fresh: unchanged, enroll',
    'rest: unchanged, manageable',
    'spare: unchanged, manageable',
    'web: unchanged, active',
  ]);

  const back = await importIronic('--back', '--yes');
  expect(back).toMatchObject({ exitCode: 0, stderr: '' });
  expect(back.stdout.trimEnd().split('\n').slice(1).sort()).toEqual(['db', 'fresh', 'rest', 'spare', 'web']);
  expect((await operator.call('GET', '/v1/nodes'))['nodes']).toEqual([]);
  expect(await ironic.call('GET', '/v1/nodes/web')).toMatchObject({
    provision_state: 'active',
    power_state: 'power on',
    instance_uuid: theirs['instance_uuid'],
    allocation_uuid: theirs['allocation_uuid'],
  });
  expect([lives(), orders(since)]).toEqual([before, []]);
  expect(loggedErrors(ironic.logFile)).toEqual([]);
});

test('a password that the database refuses is named, and is in no message', async () => {
  const wrong = ironic.readerUrl.replace(/:[^:@]*@/, ':none-of-theirs@');
  const { stderr, exitCode } = await baton('import', 'ironic', ironic.url, '--database', wrong);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("read nodes of Ironic's database by mariadb or mysql");
  expect(stderr).toContain("Access denied for user 'reader'");
  expect(stderr).not.toContain('none-of-theirs');
});
