import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSecretsDatabase } from '#conductor/cli/import/ironic-secrets.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { askPostgresql } from '#test/support/postgresql.ts';
import { batonProgram } from '#test/support/programs.ts';
import { makeTestDatabase } from '#test/support/test-database.ts';

/** Nodes come over from an Ironic, from metal3 and from a table, while their machines run on. */

let ironic: ConductorInProcess;
let here: ConductorInProcess;
let there: Operator;
let operator: Operator;
let machines: SimulatedNode[];
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-import-'));
  ironic = await startConductorInProcess({ log: silentLog, settings: { BATON_CONDUCTOR_NAME: 'ironic' } });
  here = await startConductorInProcess({ log: silentLog });
  [there, operator] = [createOperator(ironic.url), createOperator(here.url)];
  machines = await Promise.all(
    ['01', '02', '03', '04'].map((hex) =>
      startSimulatedNode({ conductorUrl: () => ironic.url, mac: `52:54:00:00:3a:${hex}` }),
    ),
  );
});
afterAll(async () => {
  await Promise.all(machines.map((machine) => machine.close()));
  await here.close();
  await ironic.close();
  await rm(directory, { recursive: true });
});

const baton = (...args: string[]): Promise<RunResult> =>
  run(batonProgram, args, {
    env: { BATON_URL: here.url },
    okExitCodes: [0, 1, 2],
    timeoutMs: 300_000,
    cwd: directory,
  });
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(directory, name), text);
  return name;
};
const machineOf = (index: number): SimulatedNode => machines[index] as SimulatedNode;
const lives = () => machines.map((machine) => [machine.boots(), machine.state().power, machine.disk.length]);

test('an Ironic: active nodes are adopted with their allocation, others are managed, none is switched', async () => {
  const [running, resting] = [machineOf(0), machineOf(1)];
  const link = { switch_id: '00:11:22:33:44:55', port_id: 'Ethernet1' };
  await enrolSimulatedNode(there, running, 'web', {
    resource_class: 'gold',
    instance_info: {},
    extra: { rack: 'r7' },
    owner: 'team-a',
  });
  await there.call('PUT', '/v1/nodes/web/traits/CUSTOM_FAST');
  const { ports } = (await there.call('GET', '/v1/nodes/web/ports')) as { ports: { uuid: string }[] };
  await there.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
    { op: 'add', path: '/local_link_connection', value: link },
  ]);
  await there.call('POST', '/v1/allocations', { name: 'web', resource_class: 'gold' });
  await there.waitForState('web', 'available');
  await there.call('PATCH', '/v1/nodes/web', [
    { op: 'add', path: '/instance_info/image_source', value: demoInstance.image_source },
    { op: 'add', path: '/instance_info/image_os_hash_algo', value: 'sha256' },
    { op: 'add', path: '/instance_info/image_os_hash_value', value: demoInstance.image_os_hash_value },
  ]);
  await there.provision('web', 'active');
  await there.waitForState('web', 'active');
  await enrolSimulatedNode(there, resting, 'spare', { instance_info: {} });
  await there.call('POST', '/v1/portgroups', { node_uuid: (await there.node('spare'))['uuid'], name: 'bond0' });
  await there.call('PUT', '/v1/nodes/spare/maintenance', { reason: 'new fans' });
  await there.call('POST', '/v1/deploy_templates', {
    name: 'CUSTOM_FAST',
    steps: [{ interface: 'deploy', step: 'write_image', args: {}, priority: 80 }],
  });
  const before = lives();

  const masked = await baton('import', 'ironic', ironic.url);
  expect(masked.stdout).toMatch(/^web +redfish +active +enroll +1 +driver_info\.redfish_password \(masked there\)$/m);
  const secrets = await file(
    'secrets.yaml',
    ['web', 'spare'].map((name) => `${name}: {redfish_password: simulated}\n`).join(''),
  );
  const dry = await baton('import', 'ironic', ironic.url, '--secrets', secrets);
  expect(dry).toMatchObject({ exitCode: 0, stderr: '' });
  expect(dry.stdout).toMatch(/^web +redfish +active +active +1 +-$/m);
  expect(dry.stdout).toContain('1 node adopted, 1 manageable, 0 in enroll, 0 refused, 1 deploy template, 1 allocation');
  expect((await operator.call('GET', '/v1/nodes'))['nodes']).toEqual([]);

  const done = await baton('import', 'ironic', ironic.url, '--secrets', secrets, '--yes');
  expect(done).toMatchObject({ exitCode: 0, stderr: '' });
  const original = await there.node('web');
  expect(await operator.node('web')).toMatchObject({
    uuid: original['uuid'],
    provision_state: 'active',
    power_state: 'power on',
    traits: ['CUSTOM_FAST'],
    extra: { rack: 'r7', imported_from: 'Ironic' },
    owner: 'team-a',
    instance_uuid: original['instance_uuid'],
    allocation_uuid: original['allocation_uuid'],
  });
  const { ports: made } = (await operator.call('GET', '/v1/nodes/web/ports?fields=address,local_link_connection')) as {
    ports: object[];
  };
  expect(made).toMatchObject([{ address: running.mac, local_link_connection: link }]);
  expect(await operator.node('spare')).toMatchObject({
    provision_state: 'manageable',
    maintenance: true,
    maintenance_reason: 'new fans',
  });
  expect(lives()).toEqual(before);

  const again = await baton('import', 'ironic', ironic.url, '--secrets', secrets, '--yes');
  expect(again).toMatchObject({ exitCode: 0, stderr: '' });
  expect(again.stdout.split('\n').sort()).toEqual(['', 'spare: unchanged, manageable', 'web: unchanged, active']);

  expect((await baton('import', 'ironic', ironic.url, '--back')).stdout).toContain('would be taken out');
  await operator.call('PATCH', '/v1/nodes/spare', [{ op: 'remove', path: '/extra/imported_from' }]);
  const partly = await baton('import', 'ironic', ironic.url, '--back', '--yes');
  expect(partly).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^web$/m) as unknown });
  expect(partly.stderr).toContain('1 of 2 are still there:\n  spare (manageable): no import made it');
  await operator.call('DELETE', '/v1/nodes/spare');
  expect((await operator.call('GET', '/v1/nodes'))['nodes']).toEqual([]);
  expect(lives()).toEqual(before);
  expect(await there.node('web')).toMatchObject({
    provision_state: 'active',
    instance_uuid: original['instance_uuid'],
  });
});

test('passwords that the API masks come from a database, and those of another one are refused', async () => {
  const { url, drop } = await makeTestDatabase();
  const uuid = '11111111-1111-4111-8111-111111111111';
  try {
    // as Ironic's: text, with what JSON makes of other letters
    await askPostgresql(url, 'drop table nodes cascade; create table nodes (uuid text, driver_info text)');
    const info = JSON.stringify({ ipmi_password: 'it\'s \\ "ü"' }).replace('ü', '\\u00fc').replaceAll("'", "''");
    await askPostgresql(url, `insert into nodes values ('${uuid}', '${info}')`);
    expect(await readSecretsDatabase(url)).toEqual(new Map([[uuid, { ipmi_password: 'it\'s \\ "ü"' }]]));
    const refused = readSecretsDatabase(`${url}?sslmode=verify-full`).then(() => 'read', errorChain);
    expect(await refused).toMatch(/SSL|certificate/);
    await askPostgresql(url, 'drop table nodes');
    await expect(readSecretsDatabase(url)).rejects.toThrow("read nodes of Ironic's database by psql");
  } finally {
    await drop();
  }
});

test('metal3: a provisioned host is adopted, a host without its Secret is left in enroll', async () => {
  const { bmc, mac } = machineOf(2);
  const before = lives();
  const address = bmc.address.replace(/^(https?):\/\//, 'redfish+$1://');
  const host = (name: string, secret: string, state: string) => `
- apiVersion: metal3.io/v1alpha1
  kind: BareMetalHost
  metadata: {name: ${name}, namespace: metal3, labels: {zone: a}}
  spec:
    online: true
    bootMACAddress: "${name === 'worker-0' ? mac : '52:54:00:00:3b:01'}"
    bootMode: UEFI
    bmc: {address: "${name === 'worker-0' ? address : 'redfish://192.0.2.9'}/redfish/v1/Systems/1", credentialsName: ${secret}, disableCertificateVerification: true}
    rootDeviceHints: {minSizeGigabytes: 50}
    userData: {name: user-data}
  status: {provisioning: {state: ${state}, image: {url: "${demoInstance.image_source}", checksum: ${demoInstance.image_os_hash_value}, checksumType: sha256}}}`;
  const text = `apiVersion: v1
kind: List
items:${host('worker-0', 'bmc', 'provisioned')}${host('worker-1', 'missing', 'available')}
- apiVersion: v1
  kind: Secret
  metadata: {name: bmc, namespace: metal3}
  data: {username: ${btoa('admin')}, password: ${btoa('simulated')}}
`;
  const name = await file('hosts.yaml', text);
  const dry = await baton('import', 'metal3', name);
  expect(dry.stdout).toMatch(/^worker-0 +redfish +provisioned +active +1 +userData/m);
  expect(dry.stdout).toMatch(
    /^worker-1 +redfish +available +enroll +1 +the BMC's login \(spec\.bmc\.credentialsName: Secret metal3\/missing is not in it\)/m,
  );
  const done = await baton('import', 'metal3', name, '--yes', '--class', 'worker');
  expect(done.stdout).toContain('worker-0: created, active');
  expect(done).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('1 of 2 nodes') as unknown });
  expect(await operator.node('worker-0')).toMatchObject({
    provision_state: 'active',
    resource_class: 'worker',
    properties: { capabilities: 'boot_mode:uefi', root_device: { size: '>= 50' } },
  });
  expect(await operator.node('worker-1')).toMatchObject({ provision_state: 'enroll' });
  expect(lives()).toEqual(before);
});

test('a table: machines with their switch ports; a wrong one is refused before anything is sent', async () => {
  const { bmc, mac } = machineOf(3);
  const before = lives();
  const wrong = await file('wrong.csv', 'name,mac,colour\n,52:54,red\n');
  expect(await baton('import', 'csv', wrong, '--yes')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      /column colour: it is none of name,[\s\S]*row 2: name: it must be given\n.*mac: "52:54" is no MAC/,
    ) as unknown,
  });
  const rows = [
    'name,address,username,password,mac,switch,port,class,rack,traits,extra.asset',
    `"row, 1",${bmc.address},admin,simulated,${mac},00:11:22:33:44:55,Ethernet4,gold,r1,CUSTOM_A CUSTOM_B,"A ""1"""`,
  ];
  const name = await file('rack.csv', `${rows.join('\r\n').replace('row, 1', 'row-1')}\r\n`);
  expect(await baton('import', 'csv', name, '--yes')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('row-1: created, manageable') as unknown,
  });
  expect(await operator.node('row-1')).toMatchObject({
    provision_state: 'manageable',
    resource_class: 'gold',
    properties: { rack: 'r1' },
    extra: { asset: 'A "1"' },
    traits: ['CUSTOM_A', 'CUSTOM_B'],
  });
  const other = await file('other.csv', 'name,address,mac,adopt\nrow-1,https://192.0.2.9,52:54:00:00:3b:09,yes\n');
  const words = /row-1 in Baton is another machine: driver_info\.redfish_address/;
  expect((await baton('import', 'csv', other)).stdout).toMatch(words);
  expect(await baton('import', 'csv', other, '--yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(words) as unknown,
  });
  expect(await operator.node('row-1')).toMatchObject({ provision_state: 'manageable' });
  expect((await operator.call('GET', '/v1/nodes/row-1/ports'))['ports']).toHaveLength(1);
  expect(lives()).toEqual(before);
});
