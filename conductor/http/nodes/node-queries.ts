import type { Context } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { fieldsQuery, linksTo, originOf, queryFlag } from '#conductor/http/routing/define-routes.ts';
import { pagingQuery, type VersionedFieldSet } from '#conductor/http/routing/list-queries.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { namedConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import {
  allFaults,
  defaultListFields,
  isNodeField,
  type NodeField,
  nodeFieldVersions,
} from '#conductor/model/node-words.ts';
import { isForeignTo } from '#conductor/nodes/node-ownership.ts';
import { viewNode } from '#conductor/nodes/node-view.ts';
import type { NodeFilter } from '#conductor/nodes/views/list-nodes.ts';
import type { ShownNode } from '#conductor/nodes/views/node-surroundings.ts';

const text = z.string().optional();
const uuid = z.guid({ error: 'must be a UUID' }).optional();

/** Query arguments of `GET /v1/nodes` (ironic-api.md §3.5); any other is a 400. */
export const NodeFilterQuery = z.strictObject({
  ...pagingQuery,
  fields: fieldsQuery,
  detail: queryFlag,
  chassis_uuid: uuid,
  instance_uuid: uuid,
  instance_name: text,
  associated: queryFlag,
  maintenance: queryFlag,
  retired: queryFlag,
  provision_state: text,
  driver: text,
  resource_class: text,
  fault: z.enum(allFaults, { error: `must be ${allFaults.join(', ')}` }).optional(),
  conductor_group: text,
  conductor: text,
  owner: text,
  lessee: text,
  project: text,
  description_contains: text,
  shard: text,
  sharded: queryFlag,
  include_children: queryFlag,
  parent_node: text,
});
export type NodeFilterQuery = z.infer<typeof NodeFilterQuery>;

/** Microversion since which a filter exists, where it is not the first. */
const filterVersions: Readonly<Partial<Record<keyof NodeFilterQuery, number>>> = {
  provision_state: 9,
  driver: 16,
  resource_class: 21,
  fault: 42,
  conductor_group: 46,
  conductor: 49,
  owner: 50,
  description_contains: 51,
  retired: 61,
  lessee: 65,
  project: 65,
  instance_name: 104,
  shard: 82,
  sharded: 82,
  include_children: 83,
  parent_node: 83,
};

/** @throws AppError `not_acceptable` for a filter that the version in use does not have. */
export function requireKnownNodeFilters(query: NodeFilterQuery, version: number): void {
  for (const [name, since] of Object.entries(filterVersions)) {
    if (query[name as keyof NodeFilterQuery] !== undefined) requireVersion(version, since, `query argument '${name}'`);
  }
}

/** Makes the filter of a query; `undefined` when nothing can match: Baton has no child nodes. */
export function toNodeFilter(query: NodeFilterQuery, conductorTimeoutMs: number): NodeFilter | undefined {
  if (query.parent_node !== undefined) return undefined;
  return {
    chassisUuid: query.chassis_uuid?.toLowerCase(),
    instanceUuid: query.instance_uuid,
    instanceName: query.instance_name,
    associated: query.associated,
    maintenance: query.maintenance,
    retired: query.retired,
    provisionState: query.provision_state,
    driver: query.driver,
    resourceClass: query.resource_class,
    fault: query.fault,
    conductorGroup: query.conductor_group,
    conductor: query.conductor === undefined ? undefined : { hostname: query.conductor, timeoutMs: conductorTimeoutMs },
    owner: query.owner,
    lessee: query.lessee,
    project: query.project,
    descriptionContains: query.description_contains,
    shard: query.shard,
    sharded: query.sharded,
  };
}

/** Sub-resources that a whole node links to, with the microversion since which. */
const subResources = { ports: 1, states: 1, portgroups: 24, volume: 32 } as const;
type SubResource = keyof typeof subResources;

export interface NodeFieldChoice {
  readonly fields: readonly NodeField[] | undefined;
  readonly subResources: readonly SubResource[];
}

export const allNodeFields: NodeFieldChoice = {
  fields: undefined,
  subResources: Object.keys(subResources) as SubResource[],
};

const isSubResource = (name: string): name is SubResource => Object.hasOwn(subResources, name);

/** A node's sub-resources are chosen like its fields. */
export const nodeFieldSet: VersionedFieldSet<NodeField | SubResource> = {
  what: 'node',
  all: [...(Object.keys(nodeFieldVersions) as NodeField[]), ...allNodeFields.subResources],
  listed: defaultListFields,
  versions: { ...nodeFieldVersions, ...subResources },
};

export function nodeFieldChoice(names: readonly (NodeField | SubResource)[]): NodeFieldChoice {
  if (names === nodeFieldSet.all) return allNodeFields;
  return { fields: names.filter(isNodeField), subResources: names.filter(isSubResource) };
}

/**
 * Removes what a node's lessee is not shown: how its BMC is reached, and what its owner's affairs say. In Ironic's
 * words.
 */
function redactNode(view: Record<string, unknown>): void {
  for (const field of ['driver_info', 'driver_internal_info']) {
    if (field in view) view[field] = { content: redactedValue(field) };
  }
  for (const field of ['last_error', 'reservation']) if (field in view) view[field] = redactedValue(field);
}

/** Gives Ironic's words in place of a field that a node's lessee is not shown. */
export function redactedValue(field: string): string {
  return `** Redacted - Requires baremetal:node:get:${field} permission. **`;
}

/** Answers nodes in the form of the API, with links. */
export function answerNodes(
  context: Pick<HttpContext, 'conductors'>,
  c: Context<ApiEnv>,
  nodes: readonly ShownNode[],
  choice: NodeFieldChoice,
): Record<string, unknown>[] {
  const version = c.get('version');
  const origin = originOf(c);
  const caller = c.get('caller');
  const linked = choice.subResources.filter((name) => subResources[name] <= version);
  const options = { version, fields: choice.fields, conductorOf: (node: NodeRow) => namedConductor(context, node) };
  return nodes.map(({ node, surroundings }) => {
    const view = viewNode(node, surroundings, options);
    if (isForeignTo(caller, node)) {
      redactNode(view);
      // otherwise it is who holds the reservation
      if ('conductor' in view) view['conductor'] = namedConductor(context, node) ?? null;
    }
    view['links'] = linksTo(origin, `nodes/${node.uuid}`);
    for (const name of linked) view[name] = linksTo(origin, `nodes/${node.uuid}/${name}`);
    return view;
  });
}

export function answerNode(
  context: Pick<HttpContext, 'conductors'>,
  c: Context<ApiEnv>,
  node: ShownNode,
  choice: NodeFieldChoice = allNodeFields,
): Record<string, unknown> {
  return answerNodes(context, c, [node], choice)[0] ?? {};
}
