import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtSwitchPorts, repairSwitchPorts } from '#conductor/flows/network/look-at-switch-ports.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { openConfigDrive } from '#conductor/kernel/secrets/node-secrets.ts';
import { readConfigDrive } from '#conductor/nodes/node-store.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { enrolPair } from '#test/support/enrol-pair.ts';
import { type OpenVswitch, startOpenVswitch } from '#test/support/open-vswitch.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** A node on several networks of a real Open vSwitch, in whole flows; asked for by Ironic's own client. Needs root. */

const switchId = '00:00:5e:00:53:01';
/** The same one, as another switch of the networks file. */
const repairedSwitch = '00:00:5e:00:53:02';
const name = 'dual';
let real: OpenVswitch;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let second: string;

beforeAll(async () => {
  real = await startOpenVswitch(`ovs-t${process.pid}`);
  const internal = ['p4', 'p5'].flatMap((port) => ['--', 'set', 'interface', port, 'type=internal']);
  await real.vsctl('add-bond', 'br0', 'bond7', 'p4', 'p5', ...internal);
  const more = ['p6', 'p7'].flatMap((port) => [`-- add-port br0 ${port}`, `-- set interface ${port} type=internal`]);
  await real.vsctl(...more.join(' ').split(' ').slice(1));
  const networksFile = join(real.folder, 'networks.yaml');
  const networks = {
    provisioning: { vlan: 100 },
    tenant: { vlan: 200 },
    blue: { vlan: 300, tagged: [301, '310-311'] },
    storage: { vlan: 400, physical_network: 'storage' },
  };
  const defaults = { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'tenant' };
  const at = { switch_id: switchId, driver: 'ovs', endpoint: real.endpoint };
  const other = { ...at, switch_id: repairedSwitch, bond_numbers: '101-102', repair: true };
  const switches = [{ ...at, bonds: { bond7: ['p4', 'p5'] } }, other];
  await writeFile(networksFile, JSON.stringify({ switches, networks, defaults }));
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_NETWORKS_FILE: networksFile } });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:b7:01' });
  await enrolSimulatedNode(operator, machine, name, { network_interface: 'flat' });
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const node = await operator.node(name);
  const { ports } = (await operator.call('GET', `/v1/ports?node=${name}`)) as { ports: { uuid: string }[] };
  const plug = (port: string) => ({ switch_id: switchId, port_id: port });
  await operator.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
    { op: 'add', path: '/local_link_connection', value: plug('p1') },
  ]);
  const otherPort = { address: '52:54:00:00:b7:02', pxe_enabled: false, physical_network: 'storage' };
  const made = await operator.call('POST', '/v1/ports', {
    node_uuid: node['uuid'],
    ...otherPort,
    local_link_connection: plug('p2'),
  });
  second = String(made['uuid']);
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'add', path: '/network_interface', value: 'switchport' },
    { op: 'add', path: '/automated_clean', value: false },
  ]);
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
});
afterAll(async () => {
  await machine?.close();
  await conductor?.close();
  await real?.stop();
});

/** `access 200`, `native-untagged 300 [301, 310, 311]`, `trunk [] [4095]`. */
async function switchPorts(ports: readonly string[] = ['p1', 'p2']): Promise<string[]> {
  const shown = ports.flatMap((port) => ['--', 'get', 'port', port, 'vlan_mode', 'tag', 'trunks']);
  const lines = (await real.vsctl(...shown)).split('\n');
  return ports.map((_, at) => lines.slice(3 * at, 3 * at + 3).join(' '));
}

async function deploy(more: object = {}, node = name): Promise<void> {
  await operator.call('PATCH', `/v1/nodes/${node}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(node, 'active', { ...more });
  await operator.waitForState(node, 'active');
}

async function undeploy(node = name): Promise<void> {
  await operator.provision(node, 'deleted');
  await operator.waitForState(node, 'available');
}

/** The image as text. */
async function configDrive(node = name): Promise<string> {
  const { db } = conductor.context();
  const uuid = String((await operator.node(node))['uuid']);
  const content = openConfigDrive(testSecrets, uuid, await readConfigDrive(db, uuid)) ?? '';
  return gunzipSync(Buffer.from(content, 'base64')).toString();
}

async function baton(...args: string[]): Promise<string> {
  const program = join(import.meta.dirname, '../../conductor/start/baton.ts');
  const env = { ...process.env, BATON_URL: conductor.url };
  return (await run(process.execPath, [program, ...args], { env, timeoutMs: 300_000 })).stdout;
}

async function events(): Promise<string[]> {
  const answer = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
  return (answer['history'] as { event: string }[]).map(({ event }) => event);
}

const baremetal = (...args: string[]) =>
  run('baremetal', ['--os-auth-type', 'none', '--os-endpoint', conductor.url, ...args], { timeoutMs: 300_000 });

const isolated = 'trunk [] [4095]';

/** Looks as the conductor does in the background. */
async function look(signal: AbortSignal): Promise<void> {
  const context = conductor.context();
  await lookAtSwitchPorts(context, signal, (node, isMeant) => repairSwitchPorts(context, node, openApiCaller, isMeant));
}

test('each network takes its port: named by Ironic’s client, or found by physical network', async () => {
  const { ports } = (await operator.call('GET', `/v1/ports?node=${name}`)) as { ports: { uuid: string }[] };
  const first = ports.find(({ uuid }) => uuid !== second)?.uuid ?? '';
  await baremetal('node', 'vif', 'attach', name, 'blue', '--port-uuid', first);
  await baremetal('node', 'vif', 'attach', name, 'storage');
  const { stdout } = await baremetal('node', 'vif', 'list', name, '-f', 'json');
  expect(JSON.parse(stdout)).toEqual([{ ID: 'blue' }, { ID: 'storage' }]);
  const plan = await baton('plan', name);
  expect(plan).toContain('VLAN 300 with tagged 301,310-311');
  expect(plan).toContain('00:00:5e:00:53:01 p2');
  await deploy({ configdrive: {} });
  expect(await switchPorts()).toEqual(['native-untagged 300 [301, 310, 311]', 'access 400 []']);
  const drive = await configDrive();
  expect(drive).toContain('{"id":"port0.310","type":"vlan","vlan_link":"port0","vlan_id":310,');
  expect(drive).toContain('{"id":"port1","link":"port1","type":"ipv4_dhcp","network_id":"storage"}');
  expect(await events()).toContain(
    'switch ports moved: 52:54:00:00:b7:01 to network blue, 52:54:00:00:b7:02 to network storage',
  );
  await undeploy();
  expect(await switchPorts()).toEqual([isolated, isolated]);
});

test('a port without a network is isolated while the instance runs; the default network takes all', async () => {
  await baremetal('node', 'vif', 'attach', name, 'tenant', '--port-uuid', second);
  await deploy();
  expect(await switchPorts()).toEqual([isolated, 'access 200 []']);
  await undeploy();
  await deploy();
  expect(await switchPorts()).toEqual(['access 200 []', 'access 200 []']);
  await undeploy();
});

test('a conductor that dies at any checkpoint of the deploy ends with both ports in place', async () => {
  const deaths = await conductor.dieAtEach({
    prepare: async () => {
      await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: 'blue' });
      await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: 'storage' });
    },
    act: () => deploy(),
    check: async (checkpoint) => {
      expect([checkpoint, ...(await switchPorts())]).toEqual([
        checkpoint,
        'native-untagged 300 [301, 310, 311]',
        'access 400 []',
      ]);
      await undeploy();
      expect([checkpoint, ...(await switchPorts())]).toEqual([checkpoint, isolated, isolated]);
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(10);
});

test('a port that somebody else has changed is found, shown, and set again when asked', async () => {
  await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: 'blue' });
  await deploy();
  const { ports } = (await operator.call('GET', `/v1/nodes/${name}/network?look=true`)) as { ports: object[] };
  expect(ports).toMatchObject([
    { port_id: 'p1', network: 'blue', differs: false, found: { untagged: 300, tagged: [301, 310, 311] }, commands: [] },
    { port_id: 'p2', network: 'blue', differs: false },
  ]);
  const signal = new AbortController().signal;
  await real.vsctl('set', 'port', 'p1', 'vlan_mode=access', 'tag=999', 'trunks=[]');
  await look(signal);
  await look(signal);
  const found = 'switch port of 52:54:00:00:b7:01 (00:00:5e:00:53:01 p1) differs: found VLAN 999';
  const reports = async () => (await events()).filter((event) => event.startsWith('switch port of'));
  expect(await reports()).toEqual([`${found}, set by Baton to VLAN 300 with tagged 301,310-311 (network blue)`]);
  expect(await (await fetch(`${conductor.url}/metrics`)).text()).toMatch(/^baton_switch_ports_differing 1$/m);
  const shown = async () => {
    const { driver_internal_info: info } = (await operator.node(name)) as { driver_internal_info: object };
    return info;
  };
  expect(await shown()).toMatchObject({
    baton_switch_ports_differing: [{ address: '52:54:00:00:b7:01', set: 'network blue', found: 'VLAN 999' }],
  });
  const diff = await baton('network', 'diff', name);
  expect(diff).toContain('VLAN 999');
  expect(diff).toContain('ovs-vsctl set port p1 vlan_mode=native-untagged tag=300 trunks=301,310,311');
  expect(await baton('network', 'repair', name)).toContain(`node ${name}: switch ports are as Baton has set them`);
  expect(await switchPorts()).toEqual(Array(2).fill('native-untagged 300 [301, 310, 311]'));
  expect(await shown()).not.toHaveProperty('baton_switch_ports_differing');
  expect(await baton('network', 'diff', name)).not.toContain('A repair would send');
  await real.vsctl('set', 'port', 'p1', 'tag=999');
  await look(signal);
  await real.vsctl('set', 'port', 'p1', 'tag=300');
  await look(signal);
  expect((await reports()).at(-1)).toContain('is on VLAN 300 with tagged 301,310-311 (network blue) again');
  await undeploy();
});

test('a port group at a bond of the switch moves the bond', async () => {
  const bonded = 'bonded';
  const addresses = ['52:54:00:00:b8:01', '52:54:00:00:b8:02'] as const;
  const at = { operator, conductorUrl: conductor.url, switchId };
  const own = await enrolPair({ ...at, node: bonded, addresses, plugs: ['p4', 'p5'] });
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => own.close());
  const { network, plug } = own;
  expect(await network()).toMatchObject({ result: false, reason: expect.stringContaining('into one port group') });
  await own.intoGroup('802.3ad');
  const stranger = await operator.call('POST', '/v1/nodes', { driver: 'fake-hardware', network_interface: 'noop' });
  const theirs = await operator.call('POST', '/v1/ports', {
    node_uuid: stranger['uuid'],
    address: '52:54:00:00:b8:03',
    local_link_connection: plug('bond7'),
  });
  expect(await network()).toEqual({
    result: false,
    reason: `bond bond7 of switch ${switchId}: port 52:54:00:00:b8:03 of node ${String(stranger['uuid'])} is at it, too`,
  });
  await operator.call('DELETE', `/v1/ports/${String(theirs['uuid'])}`);
  expect(await network()).toMatchObject({ result: true });

  await operator.provision(bonded, 'provide');
  await operator.waitForState(bonded, 'available');
  expect(await baton('plan', bonded)).toContain(`${switchId} bond7`);
  await deploy({ configdrive: {} }, bonded);
  expect(await switchPorts(['bond7'])).toEqual(['access 200 []']);
  expect(await configDrive(bonded)).toContain('"type":"bond"');
  await real.vsctl('set', 'port', 'bond7', 'tag=999');
  expect(await baton('network', 'diff', bonded)).toContain('ovs-vsctl set port bond7 vlan_mode=access tag=200');
  await baton('network', 'repair', bonded);
  expect(await switchPorts(['bond7'])).toEqual(['access 200 []']);
  await undeploy(bonded);
  expect(await switchPorts(['bond7'])).toEqual([isolated]);
});

test('a port group is bonded while its instance runs, and plain while the ramdisk does, whenever a conductor dies', async () => {
  const made = 'made';
  const addresses = ['52:54:00:00:b9:01', '52:54:00:00:b9:02'] as const;
  const at = { operator, conductorUrl: conductor.url, switchId: repairedSwitch };
  const own = await enrolPair({ ...at, node: made, addresses, plugs: ['p6', 'p7'] });
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => own.close());
  const group = await own.intoGroup('balance-xor');
  expect(await own.network()).toMatchObject({
    result: false,
    reason: `port group ${group} (mode balance-xor): driver ovs of switch ${repairedSwitch} makes no such bond; give the group mode 802.3ad, or active-backup`,
  });
  await operator.call('PATCH', `/v1/portgroups/${group}`, [{ op: 'add', path: '/mode', value: '4' }]);
  expect(await own.network()).toMatchObject({ result: true });
  await operator.provision(made, 'provide');
  await operator.waitForState(made, 'available');
  const isDefined = async (port: string) => (await real.vsctl('list-ports', 'br0')).split('\n').includes(port);
  const expectPlan = async () => {
    await operator.call('PATCH', `/v1/nodes/${made}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
    const plan = await baton('plan', made);
    expect(plan).toContain('VLAN 200 in bond 101 (LACP)');
    expect(plan).toContain('add-bond $br bond101 p6 p7 lacp=active');
  };
  await expectPlan();
  const deaths = await conductor.dieAtEach({
    act: () => deploy({}, made),
    check: async (checkpoint) => {
      expect([checkpoint, ...(await switchPorts(['bond101']))]).toEqual([checkpoint, 'access 200 []']);
      expect([await real.column('bond101', 'lacp'), await isDefined('p6')]).toEqual(['active', false]);
      await undeploy(made);
      expect([checkpoint, ...(await switchPorts(['p6', 'p7']))]).toEqual([checkpoint, isolated, isolated]);
      expect(await isDefined('bond101')).toBe(false);
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(10);

  await expectPlan();
  await deploy({}, made);
  await real.vsctl('set', 'port', 'bond101', 'lacp=off');
  const diff = await baton('network', 'diff', made);
  expect(diff).toContain('VLAN 200 in bond 101 (other)');
  await look(new AbortController().signal);
  expect(await real.column('bond101', 'lacp')).toBe('active');
  await undeploy(made);
  expect(await switchPorts(['p6', 'p7'])).toEqual([isolated, isolated]);
});
