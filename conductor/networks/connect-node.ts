import {
  type Destination,
  type NetworkPort,
  parseNetworkInterface,
  planNetworkMove,
  type SwitchPortTarget,
} from '#conductor/networks/network-interfaces.ts';
import { findSwitch, type Networks } from '#conductor/networks/networks-file.ts';
import { isolated } from '#conductor/networks/port-vlans.ts';
import { switchAccess } from '#conductor/networks/switch-access.ts';
import type { LldpPort, SwitchConnection, SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { createSwitchRounds, type OneWriter, type SwitchRounds } from '#conductor/networks/switch-rounds.ts';

/** Where a port was read back to be. */
export interface SwitchPortPlacement {
  readonly port: NetworkPort;
  /** A name of the networks file; null = isolated. */
  readonly network: string | null;
  /** The untagged one. */
  readonly vlan: number | null;
}

export interface ConnectRequest {
  readonly networkInterface: string;
  readonly ports: readonly NetworkPort[];
  readonly destination: Destination;
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
    connect: async ({ networkInterface, ports, destination, signal }) => {
      const name = parseNetworkInterface(networkInterface);
      const moves = planNetworkMove({ networkInterface: name, ports, networks, destination });
      for (const atSwitch of Map.groupBy(moves, ({ switchEntry }) => switchEntry).values()) {
        const [first] = atSwitch;
        if (!first) continue;
        const settings = atSwitch.map(({ portId, network }) => ({ portId, vlans: network?.vlans ?? isolated }));
        await roundsOf(first).move(settings, signal);
      }
      return moves.map(({ port, network }) => ({
        port,
        network: network?.name ?? null,
        vlan: network?.vlans.untagged ?? null,
      }));
    },
    close: async () => {
      await Promise.all([...switches.values()].map(({ connection }) => connection.close()));
      switches.clear();
    },
  };
}
