import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { NetworkConnector } from '#conductor/networks/connect-node.ts';
import { type ParsedLldp, parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import type { HeardLldp } from '#shared/wire/inventory.ts';

/** Where machines are plugged in, by what their switches say, and where they are said to be. Pure. */

type PluggedPort = Pick<PortRow, 'address' | 'localLinkConnection'>;

export interface MovedCable {
  readonly port: PluggedPort;
  /** As a `local_link_connection`. */
  readonly heard: JsonObject;
}

/** @param heardBy what the port's card has heard; `{}` = nothing */
export function findMovedCables<Port extends PluggedPort>(
  ports: readonly Port[],
  heardBy: (port: Port) => JsonObject,
): MovedCable[] {
  return ports.flatMap((port) => {
    const heard = heardBy(port);
    return isElsewhere(port.localLinkConnection, heard) ? [{ port, heard }] : [];
  });
}

/** The same from an inventory, or what an agent has heard. */
export function movedCablesIn(
  { interfaces }: HeardLldp,
  ports: readonly PluggedPort[],
  portIdOf: NetworkConnector['portIdOf'],
): MovedCable[] {
  return findMovedCables(ports, ({ address }) => {
    const card = interfaces.find(({ mac_address: mac }) => parseMacAddress(mac ?? '') === address);
    return linkConnection(card?.lldp ? parseLldp(card.lldp) : undefined, portIdOf);
  });
}

export function describeMovedCable({ port: { address, localLinkConnection }, heard }: MovedCable): string {
  return (
    `${address} is plugged into ${atSwitchPort(heard)}, but its local_link_connection says ` +
    `${atSwitchPort(localLinkConnection)}, whose switch port would be moved: correct it, or the cable`
  );
}

export function atSwitchPort({ switch_id: switchId, port_id: portId }: JsonObject): string {
  return `switch ${String(switchId)} port ${String(portId)}`;
}

/** What a port's `local_link_connection` is by LLDP; `{}` where that says too little. */
export function linkConnection(lldp: ParsedLldp | undefined, portIdOf: NetworkConnector['portIdOf']): JsonObject {
  const { switch_chassis_id: switchId, switch_port_id: said, switch_system_name: name } = lldp ?? {};
  const description = lldp?.['switch_port_description'];
  if (typeof switchId !== 'string' || typeof said !== 'string') return {};
  const portId = portIdOf(switchId, {
    portId: said,
    description: typeof description === 'string' ? description : undefined,
  });
  return { switch_id: switchId, port_id: portId, ...(typeof name === 'string' ? { switch_info: name } : {}) };
}

/** Both name a switch port, and not the same; case is ignored. */
function isElsewhere(recorded: JsonObject, heard: JsonObject): boolean {
  return ['switch_id', 'port_id'].some((key) => {
    const [one, other] = [recorded[key], heard[key]];
    return typeof one === 'string' && typeof other === 'string' && one.toLowerCase() !== other.toLowerCase();
  });
}
