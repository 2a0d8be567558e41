import { type LldpNeighbour, sameSwitch } from '#conductor/networks/compare-places.ts';
import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';

/** Where a card is plugged in, by the LLDP that it hears. Pure. */

/** `undefined` = not known: it is neither recorded nor compared. */
export interface HeardPlace {
  /** An entry's where the networks file has the switch, else the chassis id. */
  readonly switchId: string | undefined;
  /** In the form of the switch's driver; where the networks file lacks the switch, as it was said. */
  readonly portId: string | undefined;
  /** Whether the networks file has the switch. */
  readonly isListed: boolean;
  /** The neighbour of one that it has not, and the drivers whose forms of names are known. */
  readonly unlisted?: { readonly neighbour: LldpNeighbour; readonly drivers: readonly SwitchDriver[] };
  /** Why the one or the other is not known, and what to do. */
  readonly unclear?: string;
}

export type PlaceOf = (neighbour: LldpNeighbour) => HeardPlace;

interface HeardSwitch {
  readonly switchId: string;
  readonly lldpIds?: readonly string[] | undefined;
  readonly driver: string;
  readonly endpoint: string;
}

/**
 * The switch of the networks file that a neighbour is: by its chassis id, else by what `lldp_ids` says of it, else as the
 * only one with a management address of it as endpoint.
 */
export function findHeardSwitch<Switch extends HeardSwitch>(
  switches: readonly Switch[],
  { chassisId, systemName, managementAddresses }: LldpNeighbour,
): Switch | undefined {
  const byId = switches.find(({ switchId }) => sameSwitch(switchId, chassisId));
  if (byId) return byId;
  const said = [chassisId, ...(systemName === undefined ? [] : [systemName]), ...managementAddresses];
  const listed = switches.filter(({ lldpIds = [] }) => lldpIds.some((id) => said.some((each) => sameSwitch(id, each))));
  const candidates =
    listed.length > 0 ? listed : switches.filter(({ endpoint }) => managementAddresses.includes(hostOf(endpoint)));
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * Tells where a neighbour's port is.
 * @param names what a switch calls its ports in LLDP → their port ids, where it was asked for that
 */
export function placeHeard<Switch extends HeardSwitch>(
  neighbour: LldpNeighbour,
  options: {
    readonly switches: readonly Switch[];
    readonly driverOf: (entry: Switch) => SwitchDriver;
    /** Every one that there is. */
    readonly drivers: readonly SwitchDriver[];
    readonly names?: ReadonlyMap<Switch, ReadonlyMap<string, string> | { readonly failure: string }>;
  },
): HeardPlace {
  const { switches, driverOf, drivers, names } = options;
  const { chassisId, portId: said, description, systemName, systemDescription = '' } = neighbour;
  const entry = findHeardSwitch(switches, neighbour);
  if (!entry) {
    const driver = drivers.find(({ chassisIdPerPort }) => chassisIdPerPort?.test(systemDescription));
    const unlisted = { neighbour, drivers };
    if (!driver) return { switchId: chassisId, portId: said, isListed: false, unlisted };
    const name = systemName === undefined ? 'that shows no name' : `that calls itself ${systemName}`;
    const unclear =
      `hears a switch ${name}, port ${said}, with the chassis id ${chassisId}: its system (${driver.name}) sends one for ` +
      'each port, so add its name to the lldp_ids of its switch in the networks file';
    return { switchId: undefined, portId: undefined, isListed: false, unlisted, unclear };
  }
  const driver = driverOf(entry);
  const known = names?.get(entry);
  const asked = known instanceof Map ? (known.get(said) as string | undefined) : undefined;
  const portId = asked ?? (driver.portIdOf ? driver.portIdOf(neighbour) : said);
  if (portId !== undefined) return { switchId: entry.switchId, portId, isListed: true };
  const about = description === undefined ? '' : ` (description ${description})`;
  const why = known && 'failure' in known ? `, and asking it failed (${known.failure})` : '';
  const unclear =
    `hears switch ${entry.switchId} call its port ${said}${about}, which driver ${driver.name} can't tell the port of${why}: ` +
    'set port_id by hand';
  return { switchId: entry.switchId, portId: undefined, isListed: true, unclear };
}

/** The host of `ssh:192.0.2.1`, `https://192.0.2.1:443`, `netconf:[2001:db8::1]:830`. */
function hostOf(endpoint: string): string {
  return /^[a-z]+:(?:\/\/)?(?:\[([^\]]+)\]|([^:/]+))/.exec(endpoint)?.slice(1).find(Boolean)?.toLowerCase() ?? '';
}
