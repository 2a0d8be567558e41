import type { EngineContext } from '#conductor/flows/context.ts';
import { findLatestFlow, findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Refuses work beside an open flow, because it would take the flow's ground away: the flow has to end first, or to be
 * aborted.
 * @param asked the verb or kind of flow that is wanted
 * @throws AppError `conflict` naming the flow that is under way
 */
export function requireNoFlow(
  node: Pick<NodeRow, 'uuid' | 'name'>,
  flow: Pick<FlowRow, 'kind' | 'uuid'> | undefined,
  asked: string,
): void {
  if (!flow) return;
  throw new AppError(
    'conflict',
    `'${asked}' is not possible on node ${node.uuid} while its ${flow.kind} is under way (flow ${flow.uuid}): wait until ` +
      `it ends, or stop it with \`baton abort ${node.name ?? node.uuid}\``,
  );
}

/**
 * Returns whether a flow goes on beside the node's states, as a teardown in its clusters does; one of an unknown kind does
 * not.
 */
export function isBeside(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && Object.hasOwn(flowKinds, flow.kind) && isBesideStates(flowKinds[flow.kind]);
}

/**
 * Refuses work by hand on a cluster's node where a flow does the same, or a site action's.
 * @param name of the node in its cluster; one that Baton does not know is nobody else's
 * @throws AppError `conflict` naming flow and action
 */
export async function requireNoFlowOn({ db }: Pick<EngineContext, 'db'>, name: string, asked: string): Promise<void> {
  const node = await findNode(db, name);
  const flow = node && (await findOpenFlow(db, node.uuid));
  if (!flow || (flow.actionId === null && !isBesideStates(flowKinds[flow.kind]))) return;
  const whose = flow.actionId === null ? `flow ${flow.uuid}` : `flow ${flow.uuid} of site action ${flow.actionId}`;
  throw new AppError(
    'conflict',
    `'${asked}' is not possible on node ${name} while its ${flow.kind} is under way (${whose}): wait until it ends`,
  );
}

/** The node as it was when a request was decided. */
export interface SeenNode {
  readonly node: Pick<NodeRow, 'provisionState' | 'provisionUpdatedAt'>;
  /** The open flow, or else the last one. */
  readonly flow?: Pick<FlowRow, 'uuid' | 'state'> | undefined;
}

/**
 * Refuses a request whose node has moved since it was read (compare-and-set): most verbs are legal in several states, and
 * two who decide the same at once would have the slower one act on what the faster one has finished.
 * @param tx has locked the node's row, of which `current` was read
 * @param seen absent = the request holds for the node as it is now
 * @throws AppError `conflict` when the node has changed state, or its flow has, since
 */
export async function requireUnmoved(tx: Transaction, current: NodeRow, seen: SeenNode | undefined): Promise<void> {
  if (!seen) return;
  const flow = await findLatestFlow(tx, current.uuid);
  const isSame =
    seen.node.provisionState === current.provisionState &&
    seen.node.provisionUpdatedAt.getTime() === current.provisionUpdatedAt.getTime() &&
    seen.flow?.uuid === flow?.uuid &&
    seen.flow?.state === flow?.state;
  if (!isSame) {
    throw new AppError('conflict', `node ${current.uuid} has moved on since this was decided: look at it again`);
  }
}
