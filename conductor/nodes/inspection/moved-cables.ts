import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import {
  type HeardPlace,
  type LldpNeighbour,
  type PlaceOf,
  sameSwitch,
  sameSwitchPort,
} from '#conductor/networks/hear-switches.ts';
import { type ParsedLldp, parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import type { HeardLldp } from '#shared/wire/inventory.ts';

/** Where machines are plugged in, by what their switches say, and where they are said to be. Pure. */

type PluggedPort = Pick<PortRow, 'address' | 'localLinkConnection'>;

export interface MovedCable {
  readonly port: PluggedPort;
  readonly heard: HeardPlace;
}

/** @param heardBy what the port's card has heard */
export function findMovedCables<Port extends PluggedPort>(
  ports: readonly Port[],
  heardBy: (port: Port) => HeardPlace | undefined,
): MovedCable[] {
  return ports.flatMap((port) => {
    const heard = heardBy(port);
    return heard && isElsewhere(port.localLinkConnection, heard) ? [{ port, heard }] : [];
  });
}

/** The same from an inventory, or what an agent has heard. */
export function movedCablesIn(heard: HeardLldp, ports: readonly PluggedPort[], placeOf: PlaceOf): MovedCable[] {
  return findMovedCables(ports, ({ address }) => {
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

export function atSwitchPort({ switch_id: switchId, port_id: portId }: JsonObject): string {
  return `switch ${String(switchId)}${typeof portId === 'string' ? ` port ${portId}` : ''}`;
}

/** The switch that speaks; `undefined` where it says too little. */
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

/** Both name a switch, or a port, and not the same. */
function isElsewhere({ switch_id: switchId, port_id: portId }: JsonObject, heard: HeardPlace): boolean {
  if (isOther(switchId, heard.switchId, sameSwitch)) return true;
  // a listed switch has its driver's names; of others nobody knows how their ports are written
  const samePort = heard.isListed ? sameText : sameSwitchPort;
  return isOther(portId, heard.portId, samePort);
}

function isOther(recorded: unknown, heard: string | undefined, isSame: typeof sameText): boolean {
  return typeof recorded === 'string' && heard !== undefined && !isSame(recorded, heard);
}

function sameText(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
