import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNeutronConnector, type NeutronConnector } from '#conductor/networks/neutron/connect-by-neutron.ts';
import { createNeutronClient, type NeutronClient } from '#conductor/networks/neutron/neutron-client.ts';
import type { Destination, NetworkPort } from '#conductor/networks/vifs/network-port.ts';
import { start } from '#shared/process/run.ts';
import { debian13 } from '#test/interop/debian-13.ts';
import { freePort } from '#test/support/free-port.ts';

/**
 * The real Neutron 26 with ML2 and networking-generic-switch, whose switch takes everything: no Keystone, no message bus, no
 * agents. It has no packets to send.
 */

const nodeUuid = '6a3f6a0e-3a5b-4d0c-8d0f-0a8f0c5d9b11';
const ports: NetworkPort[] = [1, 2].map((index) => ({
  uuid: `port-${index}`,
  address: `52:54:00:00:0e:0${index}`,
  pxeEnabled: index === 1,
  portgroupUuid: null,
  physicalNetwork: null,
  localLinkConnection: { switch_id: '00:11:22:33:44:55', port_id: `Ethernet${index}`, switch_info: 'leaf1' },
}));

let folder: string;
let neutron: ReturnType<typeof start>;
let client: NeutronClient;
let connector: NeutronConnector;
let url: string;

beforeAll(async () => {
  const tree = await debian13();
  folder = await mkdtemp(join(tmpdir(), 'baton-neutron-'));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  await writeFile(join(folder, 'neutron.conf'), neutronConf(port));
  await writeFile(join(folder, 'start.py'), startNeutron);
  const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];
  const enter = join(import.meta.dirname, 'enter-chroot.sh');
  const argv = [...namespaces, enter, tree, `${folder}:var/lib/neutron`, '--', 'python3', '/var/lib/neutron/start.py'];
  neutron = start('unshare', argv, {
    env: { LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1', PATH: process.env['PATH'] ?? '' },
  });
  neutron.stdout.resume();
  neutron.stderr.resume();
  const settings = {
    url,
    caFile: undefined,
    keystone: undefined,
    networks: { provisioning: 'provision-net', cleaning: 'clean-net' },
  };
  client = createNeutronClient(settings);
  connector = createNeutronConnector(settings);
  const state = { hasEnded: false };
  void neutron.exited.then(() => {
    state.hasEnded = true;
  });
  for (;;) {
    try {
      await client.listPorts({});
      break;
    } catch (error) {
      if (state.hasEnded) throw new Error(await readFile(join(folder, 'neutron.log'), 'utf8'), { cause: error });
      await sleep(500);
    }
  }
  for (const name of ['provision-net', 'clean-net', 'blue']) await post('networks', { network: { name } });
});
afterAll(async () => {
  await connector?.close();
  await client?.close();
  // unshare passes nothing on, but takes its children along
  neutron?.kill('SIGKILL');
  await neutron?.exited;
  await rm(folder, { recursive: true, force: true });
});

/** Posts as an operator, or a tenant, of Neutron. */
async function post(path: string, body: unknown): Promise<Record<string, Record<string, unknown>>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v2.0/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Record<string, Record<string, unknown>>;
}

const go = (destination: Destination, of: readonly NetworkPort[] = ports) =>
  connector.connect({ nodeUuid, ports: of, groups: [], destination });

test('ports of the ramdisk’s networks are made, bound, ACTIVE, and removed', async () => {
  await go({ purpose: 'provisioning' });
  const [made, ...more] = await client.listPorts({ device_id: nodeUuid });
  expect(more).toEqual([]);
  expect(made).toMatchObject({ status: 'ACTIVE', mac_address: '52:54:00:00:0e:01', 'binding:host_id': nodeUuid });
  expect(made?.['binding:profile']).toEqual({ local_link_information: [ports[0]?.localLinkConnection] });
  await go({ purpose: 'provisioning' });
  expect((await client.listPorts({ device_id: nodeUuid })).map(({ id }) => id)).toEqual([made?.id]);
  await go({ purpose: 'cleaning' });
  const clean = await client.findNetwork('clean-net');
  expect((await client.listPorts({ device_id: nodeUuid })).map((each) => each.network_id)).toEqual([clean.id]);
  await go('isolated');
  expect(await client.listPorts({ device_id: nodeUuid })).toEqual([]);
});

test('a VIF is bound with the node’s address, and let go of', async () => {
  const blue = await client.findNetwork('blue');
  const { port } = await post('ports', { port: { network_id: blue.id, name: 'web' } });
  const id = String(port?.['id']);
  expect(await connector.findVif(id)).toMatchObject({ id, physicalNetwork: 'physnet1' });
  await go({ purpose: 'tenant', vifs: [{ id, portUuid: 'port-1', portgroupUuid: null }] });
  expect(await client.getPort(id)).toMatchObject({ status: 'ACTIVE', mac_address: '52:54:00:00:0e:01' });
  expect((await client.listPorts({ 'binding:host_id': nodeUuid })).map((each) => each.id)).toEqual([id]);
  await go('isolated');
  const free = await client.getPort(id);
  expect(free).toMatchObject({ name: 'web', 'binding:host_id': '', 'binding:vif_type': 'unbound' });
  expect(free.mac_address).not.toBe('52:54:00:00:0e:01');
});

test('what differs is found without a change, and bound again', async () => {
  const look = (destination: Destination) =>
    connector.look({ nodeUuid, ports, groups: [], destination }, 120_000).then(([first]) => first);
  expect(await look({ purpose: 'cleaning' })).toMatchObject({
    found: null,
    differences: ['network clean-net has no port for it'],
    commands: [expect.stringMatching(/^port create 'baton cleaning 52:54:00:00:0e:01' --network clean-net /)],
  });
  expect(await client.listPorts({ device_id: nodeUuid })).toEqual([]);
  await go({ purpose: 'cleaning' });
  const [own] = await client.listPorts({ device_id: nodeUuid });
  const id = own?.id ?? '';
  expect(await look({ purpose: 'cleaning' })).toMatchObject({ found: `${id} ACTIVE`, differences: [], commands: [] });
  const elsewhere = {
    local_link_information: [{ switch_id: '00:00:00:00:00:01', port_id: 'x', switch_info: 'nowhere' }],
  };
  await client.updatePort(id, { 'binding:profile': elsewhere });
  expect(await look({ purpose: 'cleaning' })).toMatchObject({
    differences: [expect.stringContaining(`port ${id} `)],
    commands: [
      `port set ${id} --host '' --no-binding-profile`,
      expect.stringMatching(`^port set ${id} --mac-address `),
    ],
  });
  await go({ purpose: 'cleaning' });
  expect(await look({ purpose: 'cleaning' })).toMatchObject({ found: `${id} ACTIVE`, differences: [], commands: [] });
  expect(await look('isolated')).toMatchObject({ differences: [`port ${id} (${own?.name}) is left over`] });
  await go('isolated');
  expect(await look('isolated')).toMatchObject({ found: null, differences: [], commands: [] });
});

test('a switch that no driver knows fails the binding, and the next try finds what is left', async () => {
  const wrong = ports.map((port) => ({
    ...port,
    localLinkConnection: { switch_id: '00:00:00:00:00:01', port_id: 'x', switch_info: 'nowhere' },
  }));
  await expect(go({ purpose: 'provisioning' }, wrong)).rejects.toThrow(/Neutron failed to bind port .*nowhere/);
  await go({ purpose: 'provisioning' });
  expect(await client.listPorts({ device_id: nodeUuid })).toMatchObject([{ status: 'ACTIVE' }]);
  await go('isolated');
  expect(await client.listPorts({ device_id: nodeUuid })).toEqual([]);
});

const neutronConf = (port: number): string => `[DEFAULT]
auth_strategy = noauth
core_plugin = ml2
service_plugins = segments
transport_url = fake:///
bind_host = 127.0.0.1
bind_port = ${port}
api_workers = 1
rpc_workers = 0
rpc_state_report_workers = 0
dhcp_agent_notification = False
notify_nova_on_port_status_changes = False
notify_nova_on_port_data_changes = False
state_path = /var/lib/neutron
api_paste_config = /usr/share/neutron-common/api-paste.ini
log_file = /var/lib/neutron/neutron.log
debug = True
[database]
connection = sqlite:////var/lib/neutron/neutron.sqlite
[oslo_messaging_notifications]
driver = noop
[oslo_concurrency]
lock_path = /var/lib/neutron/lock
[ml2]
type_drivers = flat,vlan
tenant_network_types = vlan
mechanism_drivers = genericswitch
extension_drivers =
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199
[genericswitch:leaf1]
device_type = netmiko_fake
ngs_mac_address = 00:11:22:33:44:55
ngs_physical_networks = physnet1
ip = 192.0.2.1
`;

/** Its migrations are not made for SQLite, so that the tables are made from its models. */
const startNeutron = `
import os, sys
sys.argv = ["neutron-server", "--config-file", "/var/lib/neutron/neutron.conf"]
os.makedirs("/var/lib/neutron/lock", exist_ok=True)
import sqlalchemy
from neutron.db.migration.models import head
from neutron_lib.db import model_base
model_base.BASEV2.metadata.create_all(sqlalchemy.create_engine("sqlite:////var/lib/neutron/neutron.sqlite"))
from neutron.cmd.eventlet.server import main
main()
`;
