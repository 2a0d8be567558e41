import { isolated } from '#conductor/model/port-vlans.ts';
import type { LldpNeighbour } from '#conductor/networks/compare-places.ts';
import { findHeardSwitch, type PlaceOf, placeHeard } from '#conductor/networks/hear-switches.ts';
import { noNeutron, parseNetworkInterface, planNetworkMove } from '#conductor/networks/network-interfaces.ts';
import { findSwitch, type Networks, type SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { NeutronGroup } from '#conductor/networks/neutron/binding.ts';
import { createNeutronConnector, type NeutronConnector } from '#conductor/networks/neutron/connect-by-neutron.ts';
import type { PortGroup } from '#conductor/networks/place-bonds.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { type OpenCredential, switchAccess } from '#conductor/networks/switch-access.ts';
import {
  type SwitchConnection,
  type SwitchDriver,
  type SwitchPortSetting,
  type SwitchPortState,
  type SwitchRecording,
} from '#conductor/networks/switch-driver.ts';
import type { SwitchPortMove, SwitchPortTarget } from '#conductor/networks/switch-port-move.ts';
import { createSwitchRounds, type OneWriter, type SwitchRounds } from '#conductor/networks/switch-rounds.ts';
import { inSwitchSituation } from '#conductor/networks/switch-situation.ts';
import type { Destination, NetworkPort, SwitchPortPlacement } from '#conductor/networks/vifs/network-port.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';

export interface ConnectRequest {
  readonly nodeUuid: string;
  readonly networkInterface: string;
  readonly ports: readonly NetworkPort[];
  readonly destination: Destination;
  readonly groups?: readonly (PortGroup & NeutronGroup)[];
  readonly signal?: AbortSignal;
}

export interface NetworkConnector {
  readonly networks: Networks;
  /** `undefined` = the networks file has none. */
  readonly neutron: NeutronConnector | undefined;
  /** Where a card is plugged in, by what its switch says; asks no switch. */
  readonly placeOf: PlaceOf;
  /** The same for these; switches are asked for their ports' names where these can't be told otherwise. */
  askPlaces(heard: readonly LldpNeighbour[], signal?: AbortSignal): Promise<PlaceOf>;
  /**
   * Moves a node's switch ports, reads back, and answers where they are: none for `noop` and `flat`.
   * @throws AppError `invalid_argument`, `switch_error`, `unavailable`, `not_found`.
   */
  connect(request: ConnectRequest): Promise<SwitchPortPlacement[]>;
  /**
   * Reads where switch ports are, and what it would take to put them where these moves want them.
   * @param withinMs the longest that anything is waited for
   * @returns also the switches that did not answer, or refused a port.
   */
  look(moves: readonly SwitchPortMove[], signal?: AbortSignal, withinMs?: number): Promise<SwitchPortLooks>;
  /**
   * Records the output of a switch of the networks file, and its driver's reading of it.
   * @throws AppError `not_found` naming the switches there are, `not_supported`, and as `look` reports them.
   */
  record(switchId: string, signal?: AbortSignal): Promise<SwitchRecording & { readonly driver: string }>;
  close(): Promise<void>;
}

export interface SwitchPortLook {
  readonly move: SwitchPortMove;
  readonly found: SwitchPortState;
  /** In the switch's words; none for a port that is where it should be. */
  readonly commands: readonly string[];
}

export interface SwitchPortLooks {
  readonly looks: readonly SwitchPortLook[];
  readonly failures: readonly { readonly moves: readonly SwitchPortMove[]; readonly error: unknown }[];
}

interface KnownSwitch {
  readonly connection: SwitchConnection;
  readonly rounds: SwitchRounds;
}

/** Switches that one look reads at a time: each takes a lock, and that a connection to the database. */
const switchesAtOnce = 4;

/**
 * Keeps one connection per switch.
 * @param oneWriter Default: there is no other conductor.
 * @param openCredential Default: none is stored.
 * @param onVlansKept called for VLANs that a switch refuses to remove
 * @param drivers all there are, whose forms of names are known. Default: those of the networks file.
 */
export function createNetworkConnector(
  networks: Networks,
  switchDriver: (name: string) => SwitchDriver,
  oneWriter: OneWriter = (_switchId, signal, work) => work(signal),
  openCredential: OpenCredential = async () => undefined,
  onVlansKept?: (switchId: string, vlans: readonly number[], error: unknown) => void,
  drivers: readonly SwitchDriver[] = networks.switches.map(({ driver }) => switchDriver(driver)),
): NetworkConnector {
  const switches = new Map<string, KnownSwitch>();
  const switchOf = ({ switchEntry }: Pick<SwitchPortTarget, 'switchEntry'>): KnownSwitch => {
    const { switchId, driver } = switchEntry;
    const known = switches.get(switchId);
    if (known) return known;
    const access = switchAccess(switchEntry, openCredential, (...kept) => onVlansKept?.(switchId, ...kept));
    const connection = switchDriver(driver).connect(access);
    const opened = { connection, rounds: createSwitchRounds(switchId, connection, oneWriter) };
    switches.set(switchId, opened);
    return opened;
  };
  const neutron = networks.neutron && createNeutronConnector(networks.neutron);
  const driverOf = ({ driver }: SwitchEntry): SwitchDriver => switchDriver(driver);
  const placesAt = { switches: networks.switches, driverOf, drivers };
  return {
    networks,
    neutron,
    placeOf: (neighbour) => placeHeard(neighbour, placesAt),
    askPlaces: async (heard, signal) => {
      const unclear = heard.filter((each) => placeHeard(each, placesAt).unclear !== undefined);
      const entries = new Set(unclear.flatMap((each) => findHeardSwitch(networks.switches, each) ?? []));
      const names = await Promise.all(
        [...entries].map(async (switchEntry) => {
          const { connection } = switchOf({ switchEntry });
          return [switchEntry, await namesAt(switchEntry, connection, oneWriter, signal)] as const;
        }),
      );
      return (neighbour) => placeHeard(neighbour, { ...placesAt, names: new Map(names) });
    },
    connect: async ({ nodeUuid, networkInterface, ports, destination, groups = [], signal }) => {
      const name = parseNetworkInterface(networkInterface);
      if (name === 'neutron') {
        if (!neutron) throw new AppError('invalid_argument', noNeutron);
        return neutron.connect({ nodeUuid, ports, groups, destination, signal });
      }
      const moves = planNetworkMove({ networkInterface: name, ports, networks, destination, groups });
      for (const { first, atSwitch } of bySwitch(moves)) {
        await moveAt(switchOf(first), first.switchEntry, atSwitch.map(settingOf), signal);
      }
      return moves.map(({ port, network, bond }) => ({
        port,
        network: network?.name ?? null,
        vlan: network?.vlans.untagged ?? null,
        bond: bond ?? null,
      }));
    },
    look: async (moves, signal, withinMs) => {
      const inTurn = limitAtOnce({ most: switchesAtOnce });
      const each = bySwitch(moves).map(({ first, atSwitch }) =>
        within(withinMs, atSwitch, signal, (stop) =>
          inTurn(
            () =>
              // not amid another conductor's change, which a login would take for one that was left behind
              oneWriter(first.switchEntry.switchId, stop, (held) => lookTogether(switchOf(first), atSwitch, held)),
            stop,
          ),
        ),
      );
      const all = await Promise.all(each);
      return { looks: all.flatMap(({ looks }) => looks), failures: all.flatMap(({ failures }) => failures) };
    },
    record: (switchId, signal) => recordSwitch({ networks, switchOf, oneWriter }, switchId, signal),
    close: async () => {
      await Promise.all([...switches.values()].map(({ connection }) => connection.close()));
      switches.clear();
      await neutron?.close();
    },
  };
}

/** Answers what the switch prints, by its driver. */
async function recordSwitch(
  at: {
    readonly networks: Networks;
    readonly switchOf: (target: Pick<SwitchPortTarget, 'switchEntry'>) => KnownSwitch;
    readonly oneWriter: OneWriter;
  },
  switchId: string,
  signal = new AbortController().signal,
): ReturnType<NetworkConnector['record']> {
  const switchEntry = findSwitch(at.networks, switchId);
  if (!switchEntry) {
    const known = at.networks.switches.map((each) => each.switchId).join(', ') || 'none';
    throw new AppError('not_found', `switch ${switchId} is not in the networks file; its switches are: ${known}`);
  }
  const { driver } = switchEntry;
  const { connection } = at.switchOf({ switchEntry });
  if (!connection.record) {
    throw new AppError('not_supported', `driver ${driver} of switch ${switchId} asks no commands to be recorded`);
  }
  const recording = await at.oneWriter(switchEntry.switchId, signal, async (held) => connection.record?.(held));
  return { driver, outputs: {}, reading: null, faults: [], ...recording };
}

/** An inspection waits no longer for a switch. Milliseconds. */
const namesWithinMs = 30_000;

/** The switch's own names of its ports, or why they were not told. */
async function namesAt(
  { switchId }: SwitchEntry,
  connection: SwitchConnection,
  oneWriter: OneWriter,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, string> | { readonly failure: string }> {
  if (!connection.readPortNames) return new Map<string, string>();
  const limit = AbortSignal.any([AbortSignal.timeout(namesWithinMs), ...(signal ? [signal] : [])]);
  try {
    return await oneWriter(switchId, limit, async (held) => connection.readPortNames?.(held) ?? new Map());
  } catch (error) {
    if (signal?.aborted) throw error;
    return { failure: errorChain(error) };
  }
}

/** Others' changes may be under way on the switch, and are not waited for longer either. */
async function within(
  limitMs: number | undefined,
  moves: readonly SwitchPortMove[],
  signal: AbortSignal | undefined,
  look: (signal: AbortSignal) => Promise<SwitchPortLooks>,
): Promise<SwitchPortLooks> {
  const failed = (error: unknown): SwitchPortLooks => ({ looks: [], failures: [{ moves, error }] });
  if (limitMs === undefined) return look(signal ?? new AbortController().signal).catch(failed);
  const limit = AbortSignal.timeout(limitMs);
  const tooLate = new Promise<SwitchPortLooks>((resolve) => {
    limit.addEventListener('abort', () => {
      const id = moves[0]?.switchEntry.switchId;
      resolve(failed(new AppError('timeout', `switch ${id} did not answer in ${limitMs / 1000} s`)));
    });
  });
  return Promise.race([tooLate, look(AbortSignal.any([limit, ...(signal ? [signal] : [])])).catch(failed)]);
}

/** All at once; when the switch refuses one, in halves, until that one is alone. */
async function lookTogether(
  at: KnownSwitch,
  moves: readonly SwitchPortMove[],
  signal: AbortSignal | undefined,
): Promise<SwitchPortLooks> {
  const { connection } = at;
  try {
    const states = await connection.readPorts(
      moves.map(({ portId }) => portId),
      signal,
    );
    return { looks: looksOf(connection, moves, states), failures: [] };
  } catch (error) {
    if (moves.length === 1 || isRetryable(error) || signal?.aborted) return { looks: [], failures: [{ moves, error }] };
    const middle = Math.ceil(moves.length / 2);
    const first = await lookTogether(at, moves.slice(0, middle), signal);
    const second = await lookTogether(at, moves.slice(middle), signal);
    return { looks: [...first.looks, ...second.looks], failures: [...first.failures, ...second.failures] };
  }
}

/** Makes a look of each port; lines that would set a bond stand at the first of its ports. */
function looksOf(
  connection: SwitchConnection,
  moves: readonly SwitchPortMove[],
  states: readonly SwitchPortState[],
): SwitchPortLook[] {
  const planned = planSwitchports(moves.map(settingOf), states);
  const described = new Set<number>();
  return moves.map((move, index) => {
    const found = states[index] ?? { portId: move.portId, vlans: 'other' };
    const { bond } = settingOf(move);
    const isSaid = bond && described.has(bond.number);
    if (bond) described.add(bond.number);
    const together = planned.filter((each) => (bond ? each.bond?.number === bond.number : each.portId === move.portId));
    return { move, found, commands: isSaid || together.length === 0 ? [] : connection.describe(together, states) };
  });
}

/** @throws AppError as `SwitchRounds.move`, in its situation, with the switch's name */
async function moveAt(
  { rounds }: KnownSwitch,
  entry: SwitchEntry,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await rounds.move(settings, signal);
  } catch (error) {
    throw inSwitchSituation(error, entry);
  }
}

export function settingOf({ portId, network, bond }: SwitchPortMove): SwitchPortSetting {
  return { portId, vlans: network?.vlans ?? isolated, bond };
}

function bySwitch(moves: readonly SwitchPortMove[]) {
  const groups = [...Map.groupBy(moves, ({ switchEntry }) => switchEntry).values()];
  return groups.flatMap((atSwitch) => (atSwitch[0] ? [{ first: atSwitch[0], atSwitch }] : []));
}
