import { type Fleet, type FleetNode, textIn } from '#conductor/cli/import/fleet.ts';
import { bmcPlaceOf, describeOtherMachine } from '#conductor/cli/nodes/same-machine.ts';
import { type ApiClient, type Json, listAll } from '#conductor/cli/shell/api-client.ts';

/** Nodes and ports that Baton has, as far as they say which machine a node is. */
export interface MachinesHere {
  /** Nodes of the API, with `uuid`, `name`, `driver`, `driver_info`. */
  readonly nodes: readonly Json[];
  /** Ports of the API, with `address`, `node_uuid`. */
  readonly ports: readonly Json[];
}

/** Asks the conductor for all its nodes and ports, a page after the other. */
export async function readMachinesHere(client: ApiClient): Promise<MachinesHere> {
  return {
    nodes: await listAll(client, { path: '/v1/nodes', key: 'nodes' }, { fields: 'uuid,name,driver,driver_info' }),
    ports: await listAll(client, { path: '/v1/ports', key: 'ports' }, { fields: 'uuid,address,node_uuid' }),
  };
}

/**
 * Refuses nodes that could become one with another machine: two of the fleet with one name, UUID, MAC address or BMC, and
 * those whose name, MAC address or BMC another machine has in Baton. Pure.
 */
export function refuseConflicts(fleet: Fleet, here: MachinesHere): Fleet {
  const within = describeTwins(fleet.nodes);
  const toHere = compareWithHere(here);
  const nodes = fleet.nodes.map((node, index) => {
    const reasons = [...(within.get(index) ?? []), ...toHere(node)];
    if (reasons.length === 0) return node;
    return { ...node, refused: [...(node.refused === undefined ? [] : [node.refused]), ...reasons].join(', ') };
  });
  return { ...fleet, nodes };
}

/** Describes why nodes of a fleet can't be distinguished, by their indices. */
function describeTwins(nodes: readonly FleetNode[]): Map<number, string[]> {
  const reasons = new Map<number, string[]>();
  const holders = new Map<string, Set<number>>();
  for (const [index, node] of nodes.entries()) {
    const uuid = textIn(node.fields, 'uuid')?.toLowerCase();
    const marks = [
      `name ${node.name}`,
      ...(uuid === undefined ? [] : [`UUID ${uuid}`]),
      ...node.ports.map(({ address }) => `MAC address ${address.toLowerCase()}`),
    ];
    for (const mark of marks) holders.set(mark, (holders.get(mark) ?? new Set()).add(index));
  }
  const refuse = (index: number, mark: string, others: readonly number[]): void => {
    const names = others.map((other) => nodes[other]?.name);
    const words = mark.startsWith('name ') ? `${counted(others)} with this name` : `${names.join(', ')} with ${mark}`;
    reasons.set(index, [...(reasons.get(index) ?? []), `the source has also ${words}`]);
  };
  const refuseAll = (mark: string, members: readonly number[]): void => {
    if (members.length < 2) return;
    for (const index of members) {
      refuse(
        index,
        mark,
        members.filter((other) => other !== index),
      );
    }
  };
  for (const [mark, members] of holders) refuseAll(mark, [...members]);
  const places = nodes.map((node) => bmcPlaceOf(node.fields['driver_info']));
  const byHost = Map.groupBy(nodes.keys(), (index) => places[index]?.host);
  for (const [host, members] of byHost) {
    if (host === undefined) continue;
    for (const index of members) {
      const twins = members.filter((other) => other !== index && isOneMachine(places[other], places[index]));
      if (twins.length > 0) refuse(index, `BMC ${host}`, twins);
    }
  }
  return reasons;
}

function counted(others: readonly number[]): string {
  return others.length === 1 ? 'another machine' : `${others.length} other machines`;
}

type Place = ReturnType<typeof bmcPlaceOf>;

/** Decides whether two places are one machine's; a place that does not say which machine of the BMC it is may be any. */
function isOneMachine(one: Place, other: Place): boolean {
  if (!one || !other || one.host !== other.host) return false;
  return one.machine === other.machine || one.machine === '' || other.machine === '';
}

/** Describes why a node can't be made, or completed, beside those that Baton has. */
function compareWithHere({ nodes, ports }: MachinesHere): (node: FleetNode) => string[] {
  const byName = new Map(nodes.map((found) => [textIn(found, 'name'), found]));
  const byUuid = new Map(nodes.map((found) => [textIn(found, 'uuid'), found]));
  const owners = new Map(ports.map((port) => [textIn(port, 'address')?.toLowerCase(), textIn(port, 'node_uuid')]));
  const byHost = Map.groupBy(nodes, (found) => bmcPlaceOf(found['driver_info'])?.host);
  const nameOf = (uuid: string | undefined): string => textIn(byUuid.get(uuid), 'name') ?? uuid ?? 'another node';
  return (node) => {
    const found = byName.get(node.name) ?? byUuid.get(node.name);
    const own = textIn(found, 'uuid');
    const differences = found ? describeOtherMachine(node.fields, found, { needsProof: true }) : [];
    const taken = node.ports.flatMap(({ address }) => {
      const owner = owners.get(address.toLowerCase());
      return owner === undefined || owner === own ? [] : [`MAC address ${address} is of ${nameOf(owner)} in Baton`];
    });
    const place = bmcPlaceOf(node.fields['driver_info']);
    const others = found || !place ? [] : (byHost.get(place.host) ?? []);
    const twins = others.filter((other) => isOneMachine(bmcPlaceOf(other['driver_info']), place));
    const uuid = textIn(node.fields, 'uuid')?.toLowerCase();
    const namesake = found || uuid === undefined ? undefined : byUuid.get(uuid);
    return [
      ...(differences.length === 0 ? [] : [`${node.name} in Baton is another machine: ${differences.join(', ')}`]),
      ...taken,
      ...twins.map((twin) => `its BMC is that of ${nameOf(textIn(twin, 'uuid'))} in Baton`),
      ...(namesake ? [`its UUID is that of ${nameOf(uuid)} in Baton`] : []),
    ];
  };
}
