import { z } from 'zod';
import { fieldsQuery, queryFlag } from '#conductor/http/define-routes.ts';
import { pagingQuery } from '#conductor/http/paging.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { allFaults } from '#conductor/model/node-faults.ts';
import type { NodeFilter } from '#conductor/nodes/list-nodes.ts';

const text = z.string().optional();
const uuid = z.guid({ error: 'must be a UUID' }).optional();

/** Query arguments of `GET /v1/nodes` (ironic-api.md §3.5); any other is a 400. */
export const NodeFilterQuery = z.strictObject({
  ...pagingQuery,
  fields: fieldsQuery,
  detail: queryFlag,
  chassis_uuid: uuid,
  instance_uuid: uuid,
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

/** `undefined` when nothing can match: Baton has no child nodes. */
export function toNodeFilter(query: NodeFilterQuery, conductorTimeoutMs: number): NodeFilter | undefined {
  if (query.parent_node !== undefined) return undefined;
  return {
    chassisUuid: query.chassis_uuid?.toLowerCase(),
    instanceUuid: query.instance_uuid,
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
