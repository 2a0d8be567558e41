import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import {
  type Comparison,
  comparePorts,
  compareSwitches,
  type LldpNeighbour,
  sameSwitch,
} from '#conductor/networks/compare-places.ts';
import type { HeardPlace, PlaceOf } from '#conductor/networks/hear-switches.ts';
import { type ParsedLldp, parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import type { HeardLldp } from '#shared/wire/inventory.ts';

/** Where machines are plugged in, by what their switches say, and where they are said to be. Pure. */

type PluggedPort = Pick<PortRow, 'address' | 'localLinkConnection'>;

export interface MovedCable {
  readonly port: PluggedPort;
  readonly heard: HeardPlace;
}

/** Cables that are elsewhere than recorded, and those of which that can't be known. */
export interface ComparedCables {
  readonly moved: readonly MovedCable[];
  readonly uncompared: readonly MovedCable[];
}

/** @param heardBy what the port's card has heard */
export function compareCables<Port extends PluggedPort>(
  ports: readonly Port[],
  heardBy: (port: Port) => HeardPlace | undefined,
): ComparedCables {
  const compared = ports.flatMap((port) => {
    const heard = heardBy(port);
    return heard ? [{ port, heard, found: compare(port.localLinkConnection, heard) }] : [];
  });
  const those = (wanted: Comparison): MovedCable[] =>
    compared.flatMap(({ found, port, heard }) => (found === wanted ? [{ port, heard }] : []));
  return { moved: those('other'), uncompared: those('unknown') };
}

/** The same from an inventory, or what an agent has heard. */
export function compareCablesIn(heard: HeardLldp, ports: readonly PluggedPort[], placeOf: PlaceOf): ComparedCables {
  return compareCables(ports, ({ address }) => {
    const card = heard.interfaces.find(({ mac_address: mac }) => parseMacAddress(mac ?? '') === address);
    const neighbour = card?.lldp ? neighbourIn(parseLldp(card.lldp)) : undefined;
    return neighbour && placeOf(neighbour);
  });
}

/** Lists what every card of an inventory hears. */
export function neighboursOf({ interfaces }: HeardLldp): LldpNeighbour[] {
  return interfaces.flatMap(({ lldp }) => (lldp ? (neighbourIn(parseLldp(lldp)) ?? []) : []));
}

export function describeMovedCable({ port: { address, localLinkConnection }, heard }: MovedCable): string {
  const { switchId, portId } = heard;
  return (
    `${address} is plugged into ${atSwitchPort({ switch_id: switchId, port_id: portId })}, but its local_link_connection says ` +
    `${atSwitchPort(localLinkConnection)}, whose switch port would be moved: correct it, or the cable`
  );
}

export function describeUncompared({ port: { address, localLinkConnection }, heard }: MovedCable): string {
  if (heard.unclear !== undefined) return `${address} ${heard.unclear}`;
  const { chassisId, portId, systemName, description } = neighbourOf(heard);
  const named = systemName === undefined ? '' : ` (${systemName})`;
  const about = description === undefined || description === portId ? '' : ` (${description})`;
  return (
    `${address} hears switch ${chassisId}${named} port ${portId}${about}; whether that is what its local_link_connection says, ` +
    `${atSwitchPort(localLinkConnection)}, is not known: these names are of other kinds, and the networks file does not list the switch`
  );
}

export function atSwitchPort({ switch_id: switchId, port_id: portId }: JsonObject): string {
  return `switch ${String(switchId)}${typeof portId === 'string' ? ` port ${portId}` : ''}`;
}

/** Finds the switch that speaks; `undefined` where it says too little. */
export function neighbourIn(lldp: ParsedLldp | undefined): LldpNeighbour | undefined {
  const text = (name: string): string | undefined => {
    const value = lldp?.[name];
    return typeof value === 'string' ? value : undefined;
  };
  const chassisId = text('switch_chassis_id');
  const portId = text('switch_port_id');
  if (chassisId === undefined || portId === undefined) return undefined;
  const addresses = lldp?.['switch_mgmt_addresses'];
  return {
    chassisId,
    portId,
    description: text('switch_port_description'),
    systemName: text('switch_system_name'),
    systemDescription: text('switch_system_description'),
    managementAddresses: Array.isArray(addresses) ? addresses.filter((each) => typeof each === 'string') : [],
  };
}

/** Composes a port's `local_link_connection` by LLDP; `{}` unless both its switch and its port are known. */
export function linkConnection(neighbour: LldpNeighbour | undefined, placeOf: PlaceOf): JsonObject {
  if (!neighbour) return {};
  const { switchId, portId } = placeOf(neighbour);
  if (switchId === undefined || portId === undefined) return {};
  const { systemName } = neighbour;
  return { switch_id: switchId, port_id: portId, ...(systemName === undefined ? {} : { switch_info: systemName }) };
}

/** Compares a cable's switch and port, so far as both are recorded; one that is not is none that differs. */
function compare(recorded: JsonObject, heard: HeardPlace): Comparison {
  const [switchId, portId, info] = ['switch_id', 'port_id', 'switch_info'].map((name) => textOf(recorded[name]));
  if (heard.isListed) return compareListed(switchId, portId, heard);
  const neighbour = neighbourOf(heard);
  if (switchId !== undefined) {
    const atSwitch = compareSwitches(switchId, info, neighbour, heard.switchId === undefined);
    // of a switch that isn't known to be the recorded one the port says nothing
    if (atSwitch !== 'same') return atSwitch;
  }
  if (portId === undefined) return 'same';
  return comparePorts(portId, neighbour, heard.unlisted?.drivers ?? []);
}

/** A switch of the networks file has its driver's names. */
function compareListed(switchId: string | undefined, portId: string | undefined, heard: HeardPlace): Comparison {
  if (switchId !== undefined && heard.switchId !== undefined && !sameSwitch(switchId, heard.switchId)) return 'other';
  if (portId === undefined) return 'same';
  if (heard.portId === undefined) return 'unknown';
  return portId.toLowerCase() === heard.portId.toLowerCase() ? 'same' : 'other';
}

function neighbourOf({ unlisted, switchId, portId }: HeardPlace): LldpNeighbour {
  return unlisted?.neighbour ?? { chassisId: switchId ?? '', portId: portId ?? '', managementAddresses: [] };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
