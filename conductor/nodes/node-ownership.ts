import { eq, inArray, or, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { portgroups, ports } from '#conductor/kernel/db/schema/port.ts';
import { volumeConnectors, volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { isNode, isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Projects that a node belongs to. */
export interface Ownership {
  readonly owner: string | null;
  readonly lessee: string | null;
}

/** Makes the condition for nodes that a caller bound to the project may know of; `undefined` = all. */
export function visibleNodes(project: string | undefined): SQL | undefined {
  return project === undefined ? undefined : or(eq(nodes.owner, project), eq(nodes.lessee, project));
}

/** The same for what belongs to nodes. @param nodeUuid its column. */
export function ofVisibleNodes(db: Queryable, nodeUuid: PgColumn, project: string | undefined): SQL | undefined {
  if (project === undefined) return undefined;
  return inArray(nodeUuid, db.select({ uuid: nodes.uuid }).from(nodes).where(visibleNodes(project)));
}

/**
 * Names another node's port in words that are kept with this node: where a project reads them, they name nothing that may be
 * another project's.
 * @param port as it is named where only administrators read
 */
export function nameOthersPort({ owner, lessee }: Ownership, port: string, nodeUuid: string): string {
  return isReadByProjects({ owner, lessee }) ? 'a port of another node' : `${port} of node ${nodeUuid}`;
}

/** Checks whether projects read words about the node, which then name no other node: it may be another project's. */
export function isReadByProjects({ owner, lessee }: Ownership): boolean {
  return owner !== null || lessee !== null;
}

/** Returns whether the caller acts for another project than the node's owner: only the owner sees how its BMC is reached. */
export function isForeignTo(caller: Pick<Caller, 'project'>, node: Ownership): boolean {
  return caller.project !== undefined && node.owner !== caller.project;
}

/**
 * Returns the owner of a node that the caller enrols: a project's nodes are its own.
 * @throws AppError `forbidden` for somebody else's.
 */
export function ownerOfNew(caller: Pick<Caller, 'project'>, owner: string | null | undefined) {
  if (caller.project === undefined) return owner;
  if (owner === undefined || owner === null || owner === caller.project) return caller.project;
  throw new AppError(
    'forbidden',
    `Access was denied to the following resource: baremetal:node:create; owner must be ${caller.project}, your project`,
  );
}

/** The part of a request that leads to the node which it is about. */
export type NodeScope =
  | 'node'
  | 'node in query'
  | 'node in body'
  | 'port'
  | 'portgroup'
  | 'volume connector'
  | 'volume target';

/** Names for a scope's things when they are not found, in Ironic's words. */
const words: Readonly<Record<NodeScope, string>> = {
  node: 'Node',
  'node in query': 'Node',
  'node in body': 'Node',
  port: 'Port',
  portgroup: 'Portgroup',
  'volume connector': 'Volume connector',
  'volume target': 'Volume target',
};

/** Returns the refusal for what is not there, or hidden: a caller can't distinguish one from the other. */
export function notFound(scope: NodeScope, ident: string): AppError {
  return new AppError('not_found', `${words[scope]} ${ident} could not be found.`);
}

const parts = {
  port: ports,
  portgroup: portgroups,
  'volume connector': volumeConnectors,
  'volume target': volumeTargets,
} as const satisfies Partial<Record<NodeScope, PgTable>>;

/** Finds the projects of the node that this thing belongs to; `undefined` = there is none. */
export async function findOwnership(db: Queryable, scope: NodeScope, ident: string): Promise<Ownership | undefined> {
  const owners = db.select({ owner: nodes.owner, lessee: nodes.lessee }).from(nodes).$dynamic();
  if (scope === 'node' || scope === 'node in query' || scope === 'node in body') {
    const [node] = await owners.where(isNode(ident));
    return node;
  }
  const table = parts[scope];
  const byName = scope === 'portgroup' ? eq(portgroups.name, ident) : undefined;
  const which = isUuid(ident) ? eq(table.uuid, ident.toLowerCase()) : byName;
  if (which === undefined) return undefined;
  const [row] = await owners.innerJoin(table, eq(table.nodeUuid, nodes.uuid)).where(which);
  return row;
}
