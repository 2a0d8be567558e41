import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { labMtu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** The lab's addresses. The BMCs' network is the namespace's loopback device: no machine is connected to it. */
export const labAddresses = {
  provisioning: {
    vlan: 100,
    device: 'provisioning',
    address: '10.100.0.1',
    prefix: '10.100.0.0/24',
    ula: 'fd00:100::1',
  },
  tenant: { vlan: 200, device: 'tenant', address: '10.200.0.1', prefix: '10.200.0.0/24' },
  bmc: { prefix: '10.90.0.0/24', first: 11 },
} as const;

export const switchName = 'labswitch';
const isolatedColumns = ['vlan_mode=trunk', 'trunks=4095', 'protected=true'];

/** How ports name the switch in their `local_link_connection`. */
export const switchId = '02:00:00:00:00:01';

export interface LabNetwork {
  readonly namespace: string;
  /** Driver and endpoint of the switch, as the networks file has them. */
  readonly switchEntry: Readonly<Record<string, unknown>>;
  /** Makes a tap for a machine's network card and plugs it into the switch, in no network yet. */
  addMachinePort(name: string): Promise<void>;
  /** Makes a tap and plugs it into Open vSwitch; by default isolated, as a port is that Baton has taken off every network. */
  plugTap(name: string, ...columns: readonly string[]): Promise<void>;
  /** The VLANs of a machine's port, or of the bond that it is in: `200`. */
  portVlan(name: string): Promise<string>;
  /** Adds an address of a BMC. */
  addBmcAddress(index: number): Promise<string>;
  vsctl(...args: readonly string[]): Promise<string>;
  /** The switch's MAC table: MAC address → VLAN in which it was seen last. */
  learnedAddresses(): Promise<{ readonly mac: string; readonly vlan: number }[]>;
  forgetLearnedAddresses(): Promise<void>;
  /** Runs a command inside; returns its exit code, whatever it is. */
  tryInside(command: string, ...args: readonly string[]): Promise<number>;
}

/**
 * A network namespace with a switch: Open vSwitch with the userspace datapath (needs no kernel module), its database
 * and sockets private to the run. The conductor's side of the provisioning VLAN and a foot in the tenant VLAN are
 * internal ports; machines are taps.
 */
export async function startLabNetwork(lab: LabDirectory, cleanUp: AsyncDisposableStack): Promise<LabNetwork> {
  const { namespace } = lab;
  await run('ip', ['netns', 'add', namespace]);
  const ip = async (...args: readonly string[]): Promise<void> => {
    await run('ip', ['-n', namespace, ...args]);
  };
  await ip('link', 'set', 'lo', 'up');
  const vsctl = await startSwitch(lab, cleanUp);
  const appctl = async (command: string): Promise<string> =>
    (await run('ovs-appctl', ['-t', join(lab.sockets, 'vswitchd.ctl'), command, switchName])).stdout;

  for (const net of [labAddresses.provisioning, labAddresses.tenant]) {
    await vsctl('add-port', switchName, net.device, `tag=${net.vlan}`);
    await vsctl('set', 'Interface', net.device, 'type=internal', `mtu_request=${labMtu}`);
    await ip('addr', 'add', `${net.address}/24`, 'dev', net.device);
    await ip('link', 'set', net.device, 'up');
  }
  await ip(
    '-6',
    'addr',
    'add',
    `${labAddresses.provisioning.ula}/64`,
    'dev',
    labAddresses.provisioning.device,
    'nodad',
  );
  await hideFromHost(lab, labAddresses.tenant.device);
  await separateNetworks(ip);

  const plugTap: LabNetwork['plugTap'] = async (name, ...columns) => {
    await ip('tuntap', 'add', 'dev', name, 'mode', 'tap');
    await ip('link', 'set', name, 'mtu', String(labMtu));
    await hideFromHost(lab, name);
    await ip('rule', 'add', 'pref', '5', 'iif', name, 'blackhole');
    await ip('link', 'set', name, 'arp', 'off', 'up');
    await vsctl('add-port', switchName, name, ...(columns.length > 0 ? columns : isolatedColumns));
  };
  return {
    namespace,
    switchEntry: { driver: 'ovs', endpoint: `unix:${join(lab.sockets, 'db.sock')}` },
    vsctl,
    addMachinePort: (name) => plugTap(name),
    plugTap,
    portVlan: async (name) => {
      const uuid = (await vsctl('get', 'Interface', name, '_uuid')).trim();
      const found = await vsctl('--bare', '--columns=tag,trunks', 'find', 'Port', `interfaces{>=}${uuid}`);
      return found.trim().split(/\s+/).join(',');
    },
    addBmcAddress: async (index) => {
      const address = labAddresses.bmc.prefix.replace(/0\/24$/, String(labAddresses.bmc.first + index));
      await ip('addr', 'add', `${address}/32`, 'dev', 'lo');
      return address;
    },
    learnedAddresses: async () => parseAddressTable(await appctl('fdb/show')),
    forgetLearnedAddresses: async () => void (await appctl('fdb/flush')),
    tryInside: async (command, ...args) => {
      const okExitCodes = Array.from({ length: 256 }, (_, code) => code);
      return (await run('ip', ['netns', 'exec', namespace, command, ...args], { okExitCodes })).exitCode;
    },
  };
}

/**
 * The userspace switch reads a tap beside the host's own network stack, which hears every frame of the machine too and
 * would answer it past all VLANs. Here IPv6 is switched off for a device; IPv4 and ARP are for the caller.
 */
async function hideFromHost(lab: LabDirectory, device: string): Promise<void> {
  const setting = `net.ipv6.conf.${device}.disable_ipv6=1`;
  await run('ip', ['netns', 'exec', lab.namespace, 'sysctl', '--quiet', '--write', setting]);
}

async function startSwitch(lab: LabDirectory, cleanUp: AsyncDisposableStack): Promise<LabNetwork['vsctl']> {
  const socket = join(lab.sockets, 'db.sock');
  const database = join(lab.path, 'switch.db');
  const common = { namespace: lab.namespace, directory: lab.path, env: { OVS_RUNDIR: lab.sockets } };
  const quiet = ['-vconsole:warn', '-vsyslog:off', '-vfile:off'];
  const vsctl: LabNetwork['vsctl'] = async (...args) =>
    (await run('ovs-vsctl', [`--db=unix:${socket}`, '--timeout=60', ...args])).stdout;

  await run('ovsdb-tool', ['create', database, '/usr/share/openvswitch/vswitch.ovsschema']);
  const control = (name: string): string => `--unixctl=${join(lab.sockets, name)}`;
  const server = startLabProcess(
    'ovsdb-server',
    [database, `--remote=punix:${socket}`, control('ovsdb.ctl'), ...quiet],
    { ...common, name: 'ovsdb-server' },
  );
  cleanUp.defer(() => server.stop());
  await waitUntil('the switch database', async () => (await vsctl('--no-wait', 'init'), true));
  const daemon = startLabProcess(
    'ovs-vswitchd',
    [`unix:${socket}`, control('vswitchd.ctl'), '--disable-system', ...quiet],
    { ...common, name: 'ovs-vswitchd' },
  );
  cleanUp.defer(() => daemon.stop());
  await vsctl('add-br', switchName, '--', 'set', 'Bridge', switchName, 'datapath_type=netdev');
  return vsctl;
}

/**
 * A Linux host answers for all its addresses on every device. Without these rules a machine in the tenant network
 * could talk to the conductor, and a proof that it can't be reached elsewhere would prove nothing. The table 250
 * makes tenant addresses on-link for a client bound to the provisioning device: whether one answers there is then
 * the switch's doing and not a missing route's.
 */
async function separateNetworks(ip: (...args: readonly string[]) => Promise<void>): Promise<void> {
  const { provisioning, tenant, bmc } = labAddresses;
  await ip('rule', 'add', 'pref', '100', 'lookup', 'local');
  await ip('rule', 'delete', 'pref', '0');
  const forbidden = [
    [tenant.device, provisioning.prefix],
    [tenant.device, bmc.prefix],
    [provisioning.device, tenant.prefix],
    [provisioning.device, bmc.prefix],
  ] as const;
  for (const [device, prefix] of forbidden) {
    await ip('rule', 'add', 'pref', '10', 'iif', device, 'to', prefix, 'blackhole');
  }
  await ip('route', 'add', tenant.prefix, 'dev', provisioning.device, 'table', '250');
  await ip('rule', 'add', 'pref', '50', 'oif', provisioning.device, 'to', tenant.prefix, 'lookup', '250');
}

/** `ovs-appctl fdb/show`: ` port  VLAN  MAC                Age`. */
export function parseAddressTable(text: string): { mac: string; vlan: number }[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, vlan, mac] = fields;
    return mac !== undefined && /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) ? [{ mac, vlan: Number(vlan) }] : [];
  });
}
