import { hash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { isAlive } from '#conductor/kernel/conductors/conductor-store.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { type ConductorRow, conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { type NodeRow, nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Worker = Pick<ConductorRow, 'hostname' | 'conductorGroup' | 'drivers'>;
type NodeWork = Pick<NodeRow, 'uuid' | 'driver' | 'conductorGroup'>;

/** Returns whether a conductor works on the node: its group is the node's, and it knows the hardware type. */
export function worksOn(
  { conductorGroup, drivers }: Worker,
  node: Pick<NodeWork, 'driver' | 'conductorGroup'>,
): boolean {
  return conductorGroup === node.conductorGroup.toLowerCase() && drivers.includes(node.driver);
}

/**
 * Returns the one of these conductors that is named for the node, and reads its power state: rendezvous hashing, so that the
 * choice is the same everywhere and a conductor that comes or goes changes it only for its own share of the nodes.
 * `undefined` when none works on the node. Pure; `node-conductor.ts` says the same in SQL.
 */
export function responsibleConductor(conductors: readonly Worker[], node: NodeWork): string | undefined {
  const able = conductors.filter((each) => worksOn(each, node));
  if (able.length < 2) return able[0]?.hostname;
  let best = { weight: '', hostname: '' };
  for (const { hostname } of able) {
    const weight = hash('md5', `${node.uuid}${hostname}`);
    if (weight > best.weight) best = { weight, hostname };
  }
  return best.hostname;
}

type Context = Pick<KernelContext, 'conductors'>;
type Work = Pick<NodeRow, 'driver' | 'conductorGroup'>;

/**
 * Makes the SQL, on a row of `nodes`, of the API's `conductor`: the conductor that works on it now, else the one named for
 * it (`responsibleConductor`, here in SQL); null when there is none.
 */
export function conductorOfNode(timeoutMs: number): SQL {
  return sql`coalesce(
    (select ${nodeLeases.holder} from ${nodeLeases}
      where ${nodeLeases.nodeUuid} = ${nodes.uuid} and ${nodeLeases.expiresAt} > now()),
    (select ${conductors.hostname} from ${conductors}
      where ${isAlive(timeoutMs)} and ${conductors.conductorGroup} = lower(${nodes.conductorGroup})
        and ${conductors.drivers} @> to_jsonb(${nodes.driver})
      order by md5(${nodes.uuid}::text || ${conductors.hostname}) collate "C" desc limit 1))`;
}

/** Names the conductor of a node that nobody works on, as far as this conductor knows. */
export function namedConductor(context: Context, node: NodeRow): string | undefined {
  return responsibleConductor(context.conductors.recent(), node);
}

/** Makes the error for a node without a conductor, in Ironic's words. */
function noConductor({ driver, conductorGroup }: Work): string {
  const group = conductorGroup === '' ? '' : ` for conductor group "${conductorGroup}"`;
  return `No valid host was found. Reason: No conductor service registered which supports driver ${driver}${group}.`;
}

/**
 * Answers from this conductor's memory: anyone who refuses because of it calls `conductors.live()` before, outside of
 * any transaction.
 */
function hasConductor({ conductors: register }: Context, node: Work): boolean {
  return register.recent().some((each) => worksOn(each, node));
}

/** Reads who is alive when nobody is known for the node: it may just have started. */
export async function lookForConductor(context: Context, node: Work): Promise<void> {
  if (!hasConductor(context, node)) await context.conductors.live();
}

/**
 * Refuses the description of a node that no conductor could work on.
 * @throws AppError `invalid_argument` (400)
 */
export function requireKnownGroup(context: Context, node: Work): void {
  if (hasConductor(context, node)) return;
  const groups = new Set(context.conductors.recent().map(({ conductorGroup }) => `"${conductorGroup}"`));
  throw new AppError(
    'invalid_argument',
    `${noConductor(node)} There are conductors of group ${[...groups].join(', ')}.`,
  );
}

/**
 * Refuses work on a node that no conductor can work on just now. Clients try again by themselves.
 * @throws AppError `unavailable` (503; Ironic's 404 would say that the node is gone)
 */
export function requireLiveConductor(context: Context, node: Work): void {
  if (!hasConductor(context, node)) throw new AppError('unavailable', noConductor(node));
}

/** Explains why nobody works on a node's flow; `undefined` when somebody does, or could. */
export function whyUnattended(context: Context, node: Work): string | undefined {
  if (hasConductor(context, node)) return undefined;
  const { driver, conductorGroup } = node;
  const group = conductorGroup === '' ? 'without a group' : `of group "${conductorGroup}"`;
  return `no conductor ${group} that knows driver ${driver} is alive (GET /v1/conductors)`;
}
