import { networkPurposes } from '#conductor/model/network-purposes.ts';
import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import { portFault } from '#conductor/networks/allowed-ports.ts';
import { bondFaults, bondOf, bondsAt } from '#conductor/networks/bonds.ts';
import { findSwitch, type Network, type Networks, resolveNetwork } from '#conductor/networks/networks-file.ts';
import { neutronFaults } from '#conductor/networks/neutron/binding.ts';
import { type PortGroup, placeBonds } from '#conductor/networks/place-bonds.ts';
import type { SwitchPortMove, SwitchPortTarget } from '#conductor/networks/switch-port-move.ts';
import type { Destination, NetworkPort } from '#conductor/networks/vifs/network-port.ts';
import { placeVifs, type Vif, withPhysicalNetworks } from '#conductor/networks/vifs/place-vifs.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic's network interfaces: what connecting a node to a network means. Pure; acting is `connect-node.ts`. */

interface NetworkInterface {
  readonly description: string;
  /** Whether ports are moved between networks of the networks file. */
  readonly switches: boolean;
  /** Whether ports need to be connected somewhere, and VIFs take them. */
  readonly connects: boolean;
}

export const networkInterfaceNames = ['noop', 'flat', 'switchport', 'neutron'] as const;
export type NetworkInterfaceName = (typeof networkInterfaceNames)[number];

export const networkInterfaces: Readonly<Record<NetworkInterfaceName, NetworkInterface>> = {
  noop: {
    description: 'The operator sees to the network; nothing is switched or checked.',
    switches: false,
    connects: false,
  },
  flat: {
    description: 'One network for provisioning, cleaning and tenants; nothing is switched.',
    switches: false,
    connects: false,
  },
  switchport: {
    description: 'The node’s switch ports move between the networks of the networks file.',
    switches: true,
    connects: true,
  },
  neutron: {
    description: 'OpenStack’s Neutron sets the switches: its ports are bound to the node’s.',
    switches: false,
    connects: true,
  },
};

export const noNeutron = 'network interface neutron needs a neutron section in the networks file';

/** @throws AppError `invalid_argument` naming the interfaces there are. */
export function parseNetworkInterface(name: string): NetworkInterfaceName {
  const known = networkInterfaceNames.find((each) => each === name);
  if (known !== undefined) return known;
  throw new AppError(
    'invalid_argument',
    `network_interface: ${name} does not exist; network interfaces are: ${networkInterfaceNames.join(', ')}`,
  );
}

/**
 * Plans what connecting a node means: nothing for `noop` and `flat`; for `switchport` a network, or none, for each port
 * that has a `local_link_connection`. A PXE-enabled port must have one, other ports may go without and stay as they
 * are.
 * @throws AppError `invalid_argument` listing every fault with the port's address and what would be right.
 */
export function planNetworkMove(options: {
  readonly networkInterface: NetworkInterfaceName;
  readonly ports: readonly NetworkPort[];
  readonly networks: Networks;
  readonly destination: Destination;
  /** Bonded on their switches for tenants. */
  readonly groups?: readonly PortGroup[];
}): SwitchPortMove[] {
  const { networkInterface, ports, networks, destination, groups = [] } = options;
  if (!networkInterfaces[networkInterface].switches) return [];
  const isMeant = ({ uuid }: NetworkPort): boolean =>
    destination === 'isolated' || !('networks' in destination) || destination.networks.has(uuid);
  const { targets, faults } = readPorts(ports.filter(isMeant), networks);
  const { networkOf, faults: unplaced } = networksOf(targets, networks, destination, groups);
  const moves = targets.map((target) => ({ ...target, network: networkOf(target.port) }));
  const { bonds, faults: unbonded } = bondsFor(moves, groups, destination);
  const all = [...faults, ...unplaced, ...bondFaults(targets), ...splitFaults(moves), ...unbonded];
  if (all.length > 0) throw new AppError('invalid_argument', all.join('; '), { details: { faults: all } });
  return moves.map((move) => ({ ...move, bond: bonds.get(move.port.uuid) }));
}

function bondsFor(
  moves: readonly SwitchPortMove[],
  groups: readonly PortGroup[],
  destination: Destination,
): ReturnType<typeof placeBonds> {
  if (destination === 'isolated') return placeBonds([], []);
  if ('networks' in destination) return { bonds: destination.bonds ?? new Map<string, SwitchBond>(), faults: [] };
  return placeBonds(moves, destination.purpose === 'tenant' ? groups : []);
}

/** Bonds of switches at which a node's ports are, in so far as its connections can be read. */
export function bondsOfNode(ports: readonly NetworkPort[], networks: Networks): ReturnType<typeof bondsAt> {
  return bondsAt(readPorts(ports, networks).targets);
}

/** A bond, or a port, is in one place. */
function splitFaults(moves: readonly SwitchPortMove[]): string[] {
  const byPort = Map.groupBy(moves, ({ switchEntry, portId }) => `${switchEntry.switchId} ${portId}`);
  return [...byPort.values()].flatMap((same) => {
    const places = new Set(same.map(({ network }) => network?.name ?? 'no network'));
    if (places.size < 2) return [];
    const ports = same.map(({ port }) => port.address).join(', ');
    return [
      `ports ${ports} are at ${same[0]?.portId} together, which can't be on ${[...places].join(' and ')}: attach the VIF to ` +
        'their port group',
    ];
  });
}

function networksOf(
  targets: readonly SwitchPortTarget[],
  networks: Networks,
  destination: Destination,
  groups: readonly PortGroup[],
): { readonly networkOf: (port: NetworkPort) => Network | undefined; readonly faults: readonly string[] } {
  if (destination === 'isolated') return { networkOf: () => undefined, faults: [] };
  if ('networks' in destination) {
    const names = [...destination.networks.values()].filter((name) => name !== null);
    const byName = new Map(names.map((name) => [name, resolveNetwork(networks, 'tenant', name)]));
    return { networkOf: ({ uuid }) => byName.get(destination.networks.get(uuid) ?? ''), faults: [] };
  }
  const { purpose, vifs = [] } = destination;
  if (vifs.length === 0) {
    const network = resolveNetwork(networks, purpose);
    return { networkOf: () => network, faults: [] };
  }
  const byName = new Map(vifs.map(({ id }) => [id, resolveNetwork(networks, purpose, id)]));
  const connected = withPhysicalNetworks(
    targets.map(({ port }) => port),
    groups,
  );
  const { networks: places, faults } = placeVifs(vifs, connected, networks.networks);
  return { networkOf: ({ uuid }) => byName.get(places.get(uuid) ?? ''), faults };
}

/** The `network` entry of `GET /v1/nodes/{node}/validate`: all faults in one reason. */
export function validateNetwork(options: {
  readonly networkInterface: NetworkInterfaceName;
  readonly ports: readonly NetworkPort[];
  readonly networks: Networks;
  readonly vifs?: readonly Vif[];
  readonly groups?: readonly PortGroup[];
}): { readonly result: boolean; readonly reason?: string } {
  if (options.networkInterface === 'neutron') return validateNeutron(options);
  if (!networkInterfaces[options.networkInterface].switches) return { result: true };
  const faults = networkPurposes.flatMap((purpose) => {
    const destination = purpose === 'tenant' ? { purpose, vifs: options.vifs ?? [] } : { purpose };
    try {
      planNetworkMove({ ...options, destination });
      return [];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return (error.details['faults'] as readonly string[] | undefined) ?? [error.message];
    }
  });
  return faults.length === 0 ? { result: true } : { result: false, reason: [...new Set(faults)].join('; ') };
}

function validateNeutron({ ports, networks }: Pick<Parameters<typeof validateNetwork>[0], 'ports' | 'networks'>) {
  const faults = [...(networks.neutron ? [] : [noNeutron]), ...neutronFaults(ports)];
  return faults.length === 0 ? { result: true } : { result: false, reason: faults.join('; ') };
}

function readPorts(
  ports: readonly NetworkPort[],
  networks: Networks,
): { readonly targets: SwitchPortTarget[]; readonly faults: string[] } {
  const targets: SwitchPortTarget[] = [];
  const faults: string[] = [];
  for (const port of ports) {
    if (Object.keys(port.localLinkConnection).length === 0 && !port.pxeEnabled) continue;
    const target = readPort(port, networks);
    if (typeof target === 'string') faults.push(target);
    else targets.push(target);
  }
  if (targets.length === 0 && faults.length === 0) {
    faults.push(
      'no port can be switched: the node needs a port with local_link_connection {switch_id, port_id}, or network_interface noop or flat',
    );
  }
  return { targets, faults };
}

/** The target, or what is wrong. */
function readPort(port: NetworkPort, networks: Networks): SwitchPortTarget | string {
  const { switch_id: switchId, port_id: portId } = port.localLinkConnection;
  const missing = Object.entries({ switch_id: switchId, port_id: portId })
    .filter(([, value]) => typeof value !== 'string' || value === '')
    .map(([key]) => key);
  if (typeof switchId !== 'string' || typeof portId !== 'string' || missing.length > 0) {
    return `port ${port.address}: local_link_connection lacks ${missing.join(' and ')}; it must name the switch (switch_id of the networks file) and the port on it (port_id)`;
  }
  const entry = findSwitch(networks, switchId);
  if (entry === undefined) {
    const known = networks.switches.map((each) => each.switchId).join(', ') || 'none';
    return `port ${port.address}: local_link_connection.switch_id ${switchId} is not in the networks file; its switches are: ${known}`;
  }
  const moved = bondOf(entry, portId) ?? portId;
  // a bond that is listed may be moved, unless it is an uplink
  const fault = portFault(entry, portId) ?? portFault({ uplinks: entry.uplinks }, moved);
  if (fault !== undefined) return `port ${port.address}: local_link_connection.port_id ${portId} ${fault}`;
  return { port, switchEntry: entry, portId: moved };
}
