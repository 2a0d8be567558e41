import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import {
  type NetworkPort,
  networkInterfaces,
  parseNetworkInterface,
  planNetworkMove,
  type SwitchPortTarget,
  switchPortTargets,
} from '#conductor/networks/network-interfaces.ts';
import type { Network, Networks } from '#conductor/networks/networks-file.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type { SwitchConnection, SwitchDriver, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { overdueTimers } from '#shared/overdue-timers.ts';

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
  /**
   * Moves a node's switch ports, reads back, and answers where they are: none for `noop` and `flat`.
   * @throws AppError `invalid_argument`, `switch_error`, `unavailable`, `not_found`.
   */
  connect(request: ConnectRequest): Promise<SwitchPortPlacement[]>;
  close(): Promise<void>;
}

/** Keeps one connection per switch. */
export function createNetworkConnector(
  networks: Networks,
  switchDriver: (name: string) => SwitchDriver,
): NetworkConnector {
  const connections = new Map<string, SwitchConnection>();
  const connectionTo = (target: SwitchPortTarget): SwitchConnection => {
    const { switchId, driver, endpoint } = target.switchEntry;
    const known = connections.get(switchId) ?? switchDriver(driver).connect({ endpoint });
    connections.set(switchId, known);
    return known;
  };
  return {
    networks,
    connect: async (request) => {
      const { network, targets } = targetsOf(request, networks);
      const placements: SwitchPortPlacement[] = [];
      for (const group of bySwitch(targets)) {
        const connection = connectionTo(group.first);
        await moveAndProve(connection, group, network, request.signal);
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
      await Promise.all([...connections.values()].map((connection) => connection.close()));
      connections.clear();
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

/** Plan, apply, read back: a switch that says yes and does nothing must not end in a deploy that looks well. */
async function moveAndProve(
  connection: SwitchConnection,
  group: SwitchGroup,
  network: Network | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const desired: SwitchPortState[] = group.targets.map(({ portId }) => ({ portId, accessVlan: network?.vlan }));
  const portIds = desired.map(({ portId }) => portId);
  const operations = planSwitchports(desired, await connection.readPorts(portIds, signal));
  if (operations.length === 0) return;
  await overdueTimers();
  signal?.throwIfAborted();
  await connection.apply(operations, signal);
  const left = planSwitchports(desired, await connection.readPorts(portIds, signal));
  if (left.length > 0) {
    const ports = left.map((operation) => operation.portId).join(', ');
    throw new AppError('switch_error', `switch ${group.first.switchEntry.switchId} did not move ${ports}`);
  }
}

function uuidOf(request: ConnectRequest, target: SwitchPortTarget): string {
  const port = request.ports.find((each) => each.address === target.portAddress);
  if (!port) throw new AppError('internal', `no port ${target.portAddress}`);
  return port.uuid;
}
