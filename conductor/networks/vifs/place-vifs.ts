/** A VIF is a tenant network attached to a node: its id is the network's name. */
export interface Vif {
  readonly id: string;
  /** Where it was asked for, one of the two at most; with neither it goes where there is room. */
  readonly portUuid: string | null;
  readonly portgroupUuid: string | null;
}

/** A network with its physical network, or all of those that it spans. */
export interface VifNetwork {
  readonly name: string;
  readonly physicalNetwork?: string | readonly string[] | undefined;
}

/** Fields of a port that count here. */
export interface VifPort {
  readonly uuid: string;
  readonly address: string;
  readonly pxeEnabled: boolean;
  readonly portgroupUuid: string | null;
  readonly physicalNetwork: string | null;
}

export interface VifPlaces {
  /** Port uuid → network name. Ports that are missing get no network. */
  readonly networks: ReadonlyMap<string, string>;
  readonly faults: readonly string[];
}

/** Gives the members of a group with a physical network that one, where they name none of their own. Pure. */
export function withPhysicalNetworks<Port extends VifPort>(
  ports: readonly Port[],
  groups: readonly { readonly uuid: string; readonly physicalNetwork?: string | null | undefined }[],
): Port[] {
  const byGroup = new Map(groups.map(({ uuid, physicalNetwork }) => [uuid, physicalNetwork ?? null]));
  return ports.map((port) => {
    const { portgroupUuid, physicalNetwork } = port;
    return { ...port, physicalNetwork: physicalNetwork ?? byGroup.get(portgroupUuid ?? '') ?? null };
  });
}

/** A place that takes one VIF: a port, or a group of ports. */
interface Plug {
  readonly portgroupUuid: string | null;
  readonly ports: readonly VifPort[];
}

/**
 * Which network each port of a node gets from its VIFs.
 *
 * A single VIF that was asked for nowhere takes all ports (but a port of Neutron's, which has one MAC address), without regard to physical networks. Otherwise each takes one
 * port or one group, as in Ironic: those asked for by name first, then in the order of their attachment those whose
 * physical network agrees, groups before ports, and ports that boot from the network last. A port of a group that is
 * asked for by name dissolves the group. Pure.
 *
 * @param ports those that are connected to a switch
 */
export function placeVifs(
  vifs: readonly Vif[],
  ports: readonly VifPort[],
  networks: readonly VifNetwork[],
  single: 'takes all ports' | 'takes one' = 'takes all ports',
): VifPlaces {
  const [only, ...more] = vifs;
  if (only && more.length === 0 && isFree(only) && single === 'takes all ports') {
    return { networks: new Map(ports.map(({ uuid }) => [uuid, only.id])), faults: [] };
  }
  const places = new Map<string, string>();
  const faults: string[] = [];
  const take = (vif: Vif, plug: Plug | undefined): void => {
    if (!plug) faults.push(describeNoPlace(vif));
    else for (const { uuid } of plug.ports) places.set(uuid, vif.id);
  };
  const isTaken = ({ ports: members }: Plug): boolean => members.some(({ uuid }) => places.has(uuid));
  const byName = vifs.filter((vif) => !isFree(vif));
  const plugs = plugsOf(ports, byName);
  for (const vif of byName)
    take(
      vif,
      plugs.find((plug) => isNamed(vif, plug) && !isTaken(plug)),
    );
  for (const vif of vifs.filter(isFree)) {
    const its = [networks.find(({ name }) => name === vif.id)?.physicalNetwork ?? []].flat();
    const free = plugs.filter((plug) => !isTaken(plug) && canCarry(plug, its));
    take(vif, free.sort((a, b) => rank(a, its) - rank(b, its))[0]);
  }
  return { networks: places, faults };
}

function isFree({ portUuid, portgroupUuid }: Vif): boolean {
  return portUuid === null && portgroupUuid === null;
}

function isNamed({ portUuid, portgroupUuid }: Vif, plug: Plug): boolean {
  if (portgroupUuid !== null) return plug.portgroupUuid === portgroupUuid;
  return plug.portgroupUuid === null && plug.ports.some(({ uuid }) => uuid === portUuid);
}

function plugsOf(ports: readonly VifPort[], byName: readonly Vif[]): Plug[] {
  const alone = new Set(ports.filter(({ uuid }) => byName.some(({ portUuid }) => portUuid === uuid)).map(groupOf));
  const groups = Map.groupBy(ports, (port) => (alone.has(groupOf(port)) ? port.uuid : groupOf(port)));
  return [...groups].map(([key, members]) => ({
    portgroupUuid: members.some(({ portgroupUuid }) => portgroupUuid === key) ? key : null,
    ports: members,
  }));
}

function groupOf({ uuid, portgroupUuid }: VifPort): string {
  return portgroupUuid ?? uuid;
}

function canCarry({ ports }: Plug, its: readonly string[]): boolean {
  return (
    its.length === 0 ||
    its.some((one) => ports.every((port) => port.physicalNetwork === null || port.physicalNetwork === one))
  );
}

/** The lower, the sooner it is taken. */
function rank({ ports, portgroupUuid }: Plug, its: readonly string[]): number {
  const wanted = its.length === 0 ? [null] : its;
  const agrees = wanted.some((one) => ports.every((port) => port.physicalNetwork === one));
  const boots = ports.some(({ pxeEnabled }) => pxeEnabled);
  return (agrees ? 0 : 4) + (portgroupUuid === null ? 2 : 0) + (boots ? 1 : 0);
}

function describeNoPlace({ id, portUuid, portgroupUuid }: Vif): string {
  if (portUuid !== null) return `VIF ${id}: port ${portUuid} is not connected to a switch, or has another VIF`;
  if (portgroupUuid !== null) {
    return `VIF ${id}: port group ${portgroupUuid} has no port that is connected to a switch, or has another VIF`;
  }
  return `VIF ${id}: not enough free physical ports, on its physical network if it has one`;
}
