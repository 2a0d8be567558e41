import { and, desc, eq, inArray } from 'drizzle-orm';
import type { Transaction } from '#conductor/db/open.ts';
import { flows } from '#conductor/db/schema/flow.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import type { WipeWish } from '#conductor/flows/flow-states.ts';
import { type ProvisionVerb, provisionVerbs } from '#conductor/nodes/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface Wish {
  readonly verb: ProvisionVerb;
  readonly wipe?: WipeWish | undefined;
}

/** @throws AppError `invalid_argument` for a wipe with a verb that it does not go with */
export function refuseForeignWipe({ verb, wipe }: Wish): void {
  if (!wipe) return;
  const { event } = provisionVerbs[verb];
  if (event === 'delete' || event === 'provide') return;
  throw new AppError('invalid_argument', `wipe: it goes with deleted, undeploy and provide, not with '${verb}'.`);
}

/**
 * The wipe that a verb is to end with: the request's, else that of an earlier flow which has not come to its end. A node
 * whose disks were to be wiped, and were not, becomes available by no other way.
 */
export async function wipeOf(
  tx: Transaction,
  node: Pick<NodeRow, 'uuid'>,
  { verb, wipe }: Wish,
): Promise<WipeWish | undefined> {
  const { event } = provisionVerbs[verb];
  if (wipe || (event !== 'delete' && event !== 'provide')) return wipe;
  const [last] = await tx
    .select({ kind: flows.kind, state: flows.state, wipe: flows.wipe })
    .from(flows)
    .where(and(eq(flows.nodeUuid, node.uuid), inArray(flows.kind, ['teardown', 'wipe', 'deploy', 'adopt'])))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  if (!last?.wipe || last.kind === 'deploy' || last.kind === 'adopt') return undefined;
  return last.kind === 'wipe' && last.state === 'succeeded' ? undefined : last.wipe;
}
