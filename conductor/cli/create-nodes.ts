import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { compareFields } from '#conductor/cli/compare-fields.ts';
import { listAll } from '#conductor/cli/list-all.ts';
import type { DescribedNode } from '#conductor/cli/node-file.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/**
 * `completed`: the node was there, and now has the ports, port groups and traits that it lacked; `differs`: it is there
 * and not as written, which is left alone.
 */
type Outcome = 'created' | 'completed' | 'unchanged' | 'differs' | 'failed';

export interface NodeResult {
  readonly name: string;
  readonly outcome: Outcome;
  /** What was made, what differs, or why it failed. */
  readonly details: readonly string[];
}

interface Options {
  /** Only look. */
  readonly dryRun: boolean;
  /** Told of each node as soon as it is done. */
  readonly onResult: (result: NodeResult) => void;
}

/** So many at once: a conductor answers one client faster than one round trip after another. */
const atOnce = 8;

/**
 * Makes the nodes that are not there yet, with all that belongs to them, and goes on where one fails. A run that broke off
 * is completed by the next one. Results come in the order of the nodes.
 */
export async function createNodes(
  client: ApiClient,
  nodes: readonly DescribedNode[],
  options: Options,
): Promise<NodeResult[]> {
  const make = async (node: DescribedNode): Promise<NodeResult> => {
    const result = await createNode(client, node, options.dryRun);
    options.onResult(result);
    return result;
  };
  return inParallel(nodes, make, { atOnce });
}

async function createNode(client: ApiClient, node: DescribedNode, dryRun: boolean): Promise<NodeResult> {
  const made: string[] = [];
  try {
    const existing = await client.call('GET', `/v1/nodes/${encodeURIComponent(node.name)}`);
    const found = await findBelongings(client, existing);
    const send = async (what: string, request: () => Promise<Json | undefined>): Promise<Json> => {
      const answer = dryRun ? {} : await request();
      made.push(what);
      return answer ?? {};
    };
    const created = existing ?? (await send('node', () => client.call('POST', '/v1/nodes', node.fields)));
    await addMissing(client, { node, uuid: String(created['uuid']), found }, send);
    if (!existing) return { name: node.name, outcome: 'created', details: made.slice(1) };
    const differences = differencesOf(node, existing, found);
    if (differences.length > 0) return { name: node.name, outcome: 'differs', details: [...differences, ...made] };
    return { name: node.name, outcome: made.length > 0 ? 'completed' : 'unchanged', details: made };
  } catch (error) {
    const before = made.length > 0 ? [`made: ${made.join(', ')}`] : [];
    return { name: node.name, outcome: 'failed', details: [errorChain(error), ...before] };
  }
}

interface Belongings {
  readonly ports: readonly Json[];
  readonly portgroups: readonly Json[];
  readonly traits: readonly string[];
}

async function findBelongings(client: ApiClient, existing: Json | undefined): Promise<Belongings> {
  if (!existing) return { ports: [], portgroups: [], traits: [] };
  const below = (key: string): Promise<Json[]> =>
    listAll(client, { path: `/v1/nodes/${String(existing['uuid'])}/${key}`, key }, { detail: 'true' });
  return {
    ports: await below('ports'),
    portgroups: await below('portgroups'),
    traits: (existing['traits'] ?? []) as string[],
  };
}

async function addMissing(
  client: ApiClient,
  { node, uuid, found }: { readonly node: DescribedNode; readonly uuid: string; readonly found: Belongings },
  send: (what: string, request: () => Promise<Json | undefined>) => Promise<Json>,
): Promise<void> {
  const groups = new Map(found.portgroups.map((group) => [group['name'], group['uuid']]));
  for (const { name, fields } of node.portgroups.filter((group) => !groups.has(group.name))) {
    const body = { ...fields, node_uuid: uuid };
    const group = await send(`port group ${name}`, () => client.call('POST', '/v1/portgroups', body));
    groups.set(name, group['uuid']);
  }
  const addresses = new Set(found.ports.map((port) => port['address']));
  for (const { address, portgroup, fields } of node.ports.filter((port) => !addresses.has(port.address))) {
    const member = portgroup === undefined ? {} : { portgroup_uuid: groups.get(portgroup) };
    const body = { ...fields, node_uuid: uuid, ...member };
    await send(`port ${address}`, () => client.call('POST', '/v1/ports', body));
  }
  for (const trait of node.traits.filter((name) => !found.traits.includes(name))) {
    await send(`trait ${trait}`, () => client.call('PUT', `/v1/nodes/${uuid}/traits/${trait}`));
  }
}

function differencesOf(node: DescribedNode, existing: Json, found: Belongings): string[] {
  const ports = node.ports.flatMap(({ address, fields }) => {
    const port = found.ports.find((each) => each['address'] === address);
    return port ? compareFields(fields, port, `port ${address}: `) : [];
  });
  const groups = node.portgroups.flatMap(({ name, fields }) => {
    const group = found.portgroups.find((each) => each['name'] === name);
    return group ? compareFields(fields, group, `port group ${name}: `) : [];
  });
  return [...compareFields(node.fields, existing), ...ports, ...groups];
}
