import { whyNotToWipe } from '#conductor/flows/actions/action-lease.ts';
import { whyFaked } from '#conductor/flows/fakes-flow.ts';
import { insertFlow } from '#conductor/flows/flow-store.ts';
import { planSteps } from '#conductor/flows/plan-steps.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { applyEvent } from '#conductor/nodes/apply-event.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { coveringWipe } from '#conductor/nodes/requested-wipe.ts';

/** What a flow has promised to be followed by, for whom it was asked. */
export async function followWith(
  tx: Transaction,
  { node, flow, kind }: { readonly node: NodeRow; readonly flow: FlowRow; readonly kind: 'clean' | 'wipe' },
): Promise<void> {
  const withoutAgent = whyFaked(kind, node);
  const why = withoutAgent === undefined ? {} : { isFake: true, withoutAgent };
  const wipe = kind === 'wipe' ? (coveringWipe(flow.wipe, node.owedWipe) ?? undefined) : undefined;
  const steps = planSteps(flowKinds[kind], { requested: [], wipe, ...why });
  const asked = { requestedBy: flow.requestedBy ?? undefined, actionId: flow.actionId ?? undefined };
  await insertFlow(tx, { nodeUuid: node.uuid, kind, ...asked, wipe, steps });
}

/**
 * A retired node gets no further instance: it rests where it can't be deployed (ironic-api.md §3.8). So does one that a
 * site action has wiped: it is in its cluster still, and in the pool it would be anybody's at once.
 */
export function cleanedEvent(
  node: Pick<NodeRow, 'retired'>,
  { kind, actionId }: Pick<FlowRow, 'kind' | 'actionId'>,
): 'cleaned' | 'done' {
  return node.retired || (kind === 'wipe' && actionId !== null) ? 'cleaned' : 'done';
}

/**
 * For a teardown that is paused, or a site action that is stopped, over, or done with the node, nothing is begun that
 * destroys anything: its node, released and about to be wiped, rests in `manageable`, off and on no network, where nobody
 * gets it before it is wiped. The action begins the wipe when it goes on, the next `provide` does in any case.
 * @returns whether it rests
 */
export async function restBeforeWipe(
  tx: Transaction,
  {
    node,
    flow: { actionId },
    conductor,
  }: { readonly node: NodeRow; readonly flow: FlowRow; readonly conductor: string },
): Promise<boolean> {
  const why = actionId === null ? undefined : await whyNotToWipe(tx, { actionId, nodeName: node.name });
  if (why === undefined) return false;
  await applyEvent(tx, node, 'cleaned', { conductor, target: null });
  await addHistory(tx, {
    nodeUuid: node.uuid,
    severity: 'INFO',
    eventType: 'wipe',
    event: `its wipe is not started: site action ${actionId} ${why}`,
    conductor,
  });
  return true;
}
