import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import {
  type NetworkPort,
  networkInterfaces,
  parseNetworkInterface,
  planNetworkMove,
  type SwitchPortTarget,
  switchPortTargets,
} from '#conductor/networks/network-interfaces.ts';
import { findSwitch, type Network, type Networks } from '#conductor/networks/networks-file.ts';
import { isolated, portVlans } from '#conductor/networks/port-vlans.ts';
import { switchAccess } from '#conductor/networks/switch-access.ts';
import type { LldpPort, SwitchConnection, SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { createSwitchRounds, type OneWriter, type SwitchRounds } from '#conductor/networks/switch-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Where a port was read back to be. */
export interface SwitchPortPlacement {
  readonly portUuid: string;
  /** A name of the networks file; null = isolated. */
  readonly network: string | null;
  readonly vlan: number | null;
}

export interface ConnectRequest {
  readonly networkInterface: string;
  readonly ports: readonly (NetworkPort & { readonly uuid: string })[];
  /** `isolated`, or the purpose's default network unless another is named. */
  readonly destination: 'isolated' | { readonly purpose: NetworkPurpose; readonly networkName?: string | undefined };
  readonly signal?: AbortSignal;
}

export interface NetworkConnector {
  readonly networks: Networks;
  /** What `port_id` is for a port of the switch, from what the switch says of it by LLDP. */
  readonly portIdOf: (switchId: string, said: LldpPort) => string;
  /**
   * Moves a node's switch ports, reads back, and answers where they are: none for `noop` and `flat`.
   * @throws AppError `invalid_argument`, `switch_error`, `unavailable`, `not_found`.
   */
  connect(request: ConnectRequest): Promise<SwitchPortPlacement[]>;
  close(): Promise<void>;
}

interface KnownSwitch {
  readonly connection: SwitchConnection;
  readonly rounds: SwitchRounds;
}

/**
 * Keeps one connection per switch.
 * @param oneWriter Default: there is no other conductor.
 */
export function createNetworkConnector(
  networks: Networks,
  switchDriver: (name: string) => SwitchDriver,
  oneWriter: OneWriter = (_switchId, _signal, work) => work(),
): NetworkConnector {
  const switches = new Map<string, KnownSwitch>();
  const roundsOf = ({ switchEntry }: SwitchPortTarget): SwitchRounds => {
    const { switchId, driver } = switchEntry;
    const known = switches.get(switchId);
    if (known) return known.rounds;
    const connection = switchDriver(driver).connect(switchAccess(switchEntry));
    const rounds = createSwitchRounds(switchId, connection, oneWriter);
    switches.set(switchId, { connection, rounds });
    return rounds;
  };
  return {
    networks,
    portIdOf: (switchId, said) => {
      const entry = findSwitch(networks, switchId);
      return (entry && switchDriver(entry.driver).portIdOf?.(said)) ?? said.portId;
    },
    connect: async (request) => {
      const { network, targets } = targetsOf(request, networks);
      const placements: SwitchPortPlacement[] = [];
      for (const group of bySwitch(targets)) {
        await roundsOf(group.first).move(
          group.targets.map(({ portId }) => ({ portId, vlans: network ? portVlans(network.vlan) : isolated })),
          request.signal,
        );
        placements.push(
          ...group.targets.map((target) => ({
            portUuid: uuidOf(request, target),
            network: network?.name ?? null,
            vlan: network?.vlan ?? null,
          })),
        );
      }
      return placements;
    },
    close: async () => {
      await Promise.all([...switches.values()].map(({ connection }) => connection.close()));
      switches.clear();
    },
  };
}

function targetsOf(
  request: ConnectRequest,
  networks: Networks,
): { readonly network: Network | undefined; readonly targets: readonly SwitchPortTarget[] } {
  const networkInterface = parseNetworkInterface(request.networkInterface);
  const { destination, ports } = request;
  if (destination === 'isolated') {
    const { switches } = networkInterfaces[networkInterface];
    return { network: undefined, targets: switches ? switchPortTargets(ports, networks) : [] };
  }
  const { purpose, networkName } = destination;
  const move = planNetworkMove({ networkInterface, ports, networks, purpose, networkName });
  return { network: move.network, targets: move.targets };
}

interface SwitchGroup {
  readonly first: SwitchPortTarget;
  readonly targets: readonly SwitchPortTarget[];
}

function bySwitch(targets: readonly SwitchPortTarget[]): SwitchGroup[] {
  const groups = Map.groupBy(targets, (target) => target.switchEntry.switchId);
  return [...groups.values()].flatMap(([first, ...rest]) => (first ? [{ first, targets: [first, ...rest] }] : []));
}

function uuidOf(request: ConnectRequest, target: SwitchPortTarget): string {
  const port = request.ports.find((each) => each.address === target.portAddress);
  if (!port) throw new AppError('internal', `no port ${target.portAddress}`);
  return port.uuid;
}
