import { type NetworkPurpose, networkPurposes } from '#conductor/model/network-purposes.ts';
import { portFault } from '#conductor/networks/allowed-ports.ts';
import {
  findSwitch,
  type Network,
  type Networks,
  resolveNetwork,
  type SwitchEntry,
} from '#conductor/networks/networks-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic's network interfaces: what connecting a node to a network means. Pure; acting is `connect-node.ts`. */

/** What of a port is read here. */
export interface NetworkPort {
  /** Lower-case MAC address. */
  readonly address: string;
  readonly pxeEnabled: boolean;
  /** `{switch_id, port_id, switch_info?}`; `{}` when the operator gave none. */
  readonly localLinkConnection: Readonly<Record<string, unknown>>;
}

export interface SwitchPortTarget {
  readonly portAddress: string;
  readonly switchEntry: SwitchEntry;
  readonly portId: string;
}

export interface NetworkMove {
  /** `undefined` when the interface knows no networks. */
  readonly network: Network | undefined;
  readonly targets: readonly SwitchPortTarget[];
}

interface NetworkInterface {
  readonly description: string;
  /** Whether ports are moved between networks. */
  readonly switches: boolean;
}

export const networkInterfaceNames = ['noop', 'flat', 'switchport'] as const;
export type NetworkInterfaceName = (typeof networkInterfaceNames)[number];

export const networkInterfaces: Readonly<Record<NetworkInterfaceName, NetworkInterface>> = {
  noop: { description: 'The operator sees to the network; nothing is switched or checked.', switches: false },
  flat: { description: 'One network for provisioning, cleaning and tenants; nothing is switched.', switches: false },
  switchport: {
    description: 'The node’s switch ports move between the networks of the networks file.',
    switches: true,
  },
};

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
 * What connecting a node for a purpose means: no targets for `noop` and `flat`; for `switchport` each port that has a
 * `local_link_connection`. A PXE-enabled port must have one, other ports may go without and stay as they are.
 * @throws AppError `invalid_argument` listing every fault with the port's address and what would be right.
 */
export function planNetworkMove(options: {
  readonly networkInterface: NetworkInterfaceName;
  readonly ports: readonly NetworkPort[];
  readonly networks: Networks;
  readonly purpose: NetworkPurpose;
  /** A network other than the purpose's default. */
  readonly networkName?: string | undefined;
}): NetworkMove {
  if (!networkInterfaces[options.networkInterface].switches) return { network: undefined, targets: [] };
  const network = resolveNetwork(options.networks, options.purpose, options.networkName);
  return { network, targets: switchPortTargets(options.ports, options.networks) };
}

/**
 * The switch ports of a node under `switchport`, whatever network they shall join (also for isolating them).
 * @throws AppError `invalid_argument`, as `planNetworkMove`.
 */
export function switchPortTargets(ports: readonly NetworkPort[], networks: Networks): SwitchPortTarget[] {
  const { targets, faults } = readPorts(ports, networks);
  if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '), { details: { faults } });
  return targets;
}

/** The `network` entry of `GET /v1/nodes/{node}/validate`: all faults in one reason. */
export function validateNetwork(options: {
  readonly networkInterface: NetworkInterfaceName;
  readonly ports: readonly NetworkPort[];
  readonly networks: Networks;
  readonly networkNames?: Readonly<Partial<Record<NetworkPurpose, string>>>;
}): { readonly result: boolean; readonly reason?: string } {
  if (!networkInterfaces[options.networkInterface].switches) return { result: true };
  const networkFaults = networkPurposes.flatMap((purpose) => {
    try {
      resolveNetwork(options.networks, purpose, options.networkNames?.[purpose]);
      return [];
    } catch (error) {
      if (error instanceof AppError) return [error.message];
      throw error;
    }
  });
  const faults = [...networkFaults, ...readPorts(options.ports, options.networks).faults];
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
  const fault = portFault(entry, portId);
  if (fault !== undefined) return `port ${port.address}: local_link_connection.port_id ${portId} ${fault}`;
  return { portAddress: port.address, switchEntry: entry, portId };
}
