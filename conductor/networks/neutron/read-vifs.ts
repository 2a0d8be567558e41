import type {
  NeutronClient,
  NeutronNetwork,
  NeutronPort,
  NeutronSubnet,
} from '#conductor/networks/neutron/neutron-client.ts';
import type { KnownVif } from '#conductor/networks/neutron/neutron-network-data.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Limit for all trunks of a node: more would take long, and nobody has them on one machine. */
const maxSubPorts = 300;

/** So many ids make a URL of 4 KiB; web servers refuse those of 8 KiB. */
const listLength = 100;

/** A trunk's parent with its further ports. */
interface TrunkVif extends KnownVif {
  readonly vlans: readonly (KnownVif & { readonly vlan: number })[];
}

/**
 * VIFs with what they are in. Lists, each network and subnet once, and one request at a time: a client's few connections
 * serve all nodes.
 * @throws AppError `not_found` naming what is gone, `invalid_argument` for trunks with too many ports
 */
export async function readVifs(
  client: NeutronClient,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<TrunkVif[]> {
  const parents: NeutronPort[] = [];
  for (const id of ids) parents.push(await client.getPort(id, signal));
  const subPortsOf = (port: NeutronPort) => port.trunk_details?.sub_ports ?? [];
  const subIds = parents.flatMap(subPortsOf).map(({ port_id: id }) => id);
  if (subIds.length > maxSubPorts) {
    const trunks = parents.filter((port) => subPortsOf(port).length > 0).map(({ id }) => id);
    throw new AppError(
      'invalid_argument',
      `trunk of VIF ${trunks.join(', ')}: it has ${subIds.length} subports; network_data is made of ${maxSubPorts} at most: take some away, or give the config drive a network_data of your own`,
    );
  }
  const subPorts = await readByLists(subIds, {
    list: (id) => client.listPorts({ id }, signal),
    one: (id) => client.getPort(id, signal),
  });
  const ports = [...parents, ...subPorts.values()];
  const networks = await readByLists<NeutronNetwork>(
    ports.map((port) => port.network_id),
    {
      list: (id) => client.listNetworks({ id }, signal),
      one: (id) => client.findNetwork(id, signal),
    },
  );
  const subnets = await readByLists<NeutronSubnet>(ports.flatMap(subnetIdsOf), {
    list: (id) => client.listSubnets({ id }, signal),
    one: (id) => client.getSubnet(id, signal),
  });
  const known = (port: NeutronPort): KnownVif => ({
    port,
    network: take(networks, port.network_id),
    subnets: subnetIdsOf(port).map((id) => take(subnets, id)),
  });
  return parents.map((port) => ({
    ...known(port),
    vlans: subPortsOf(port).map(({ port_id: id, segmentation_id: vlan }) => ({ ...known(take(subPorts, id)), vlan })),
  }));
}

const subnetIdsOf = (port: NeutronPort): string[] => [...new Set(port.fixed_ips.map((each) => each.subnet_id))];

/** By id. What a list leaves out (Neutron may be set to cut them) is asked for by itself, which says when it is gone. */
async function readByLists<Row extends { readonly id: string }>(
  wanted: readonly string[],
  by: {
    readonly list: (ids: readonly string[]) => Promise<readonly Row[]>;
    readonly one: (id: string) => Promise<Row>;
  },
): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  const ids = [...new Set(wanted)];
  for (let from = 0; from < ids.length; from += listLength) {
    const group = ids.slice(from, from + listLength);
    for (const row of await by.list(group)) rows.set(row.id, row);
    for (const id of group) if (!rows.has(id)) rows.set(id, await by.one(id));
  }
  return rows;
}

function take<Row>(rows: ReadonlyMap<string, Row>, id: string): Row {
  const row = rows.get(id);
  if (row === undefined) throw new AppError('internal', `${id} was not read from Neutron`);
  return row;
}
