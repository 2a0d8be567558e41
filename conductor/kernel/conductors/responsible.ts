import { hash } from 'node:crypto';
import type { ConductorRow } from '#conductor/kernel/db/schema/conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';

type Worker = Pick<ConductorRow, 'hostname' | 'conductorGroup' | 'drivers'>;
type Work = Pick<NodeRow, 'uuid' | 'driver' | 'conductorGroup'>;

/** Whether a conductor works on the node: its group is the node's, and it knows the hardware type. */
export function worksOn({ conductorGroup, drivers }: Worker, node: Pick<Work, 'driver' | 'conductorGroup'>): boolean {
  return conductorGroup === node.conductorGroup.toLowerCase() && drivers.includes(node.driver);
}

/**
 * The one of these conductors that is named for the node, and reads its power state: rendezvous hashing, so that the
 * choice is the same everywhere and a conductor that comes or goes changes it for its own share of the nodes alone.
 * `undefined` when none works on the node. Pure; `node-conductor.ts` says the same in SQL.
 */
export function responsibleConductor(conductors: readonly Worker[], node: Work): string | undefined {
  const able = conductors.filter((each) => worksOn(each, node));
  if (able.length < 2) return able[0]?.hostname;
  let best = { weight: '', hostname: '' };
  for (const { hostname } of able) {
    const weight = hash('md5', `${node.uuid}${hostname}`);
    if (weight > best.weight) best = { weight, hostname };
  }
  return best.hostname;
}
