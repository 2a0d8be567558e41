import { desc, eq } from 'drizzle-orm';
import { readClaimed } from '#conductor/flows/actions/action-lease.ts';
import { getAction, type SiteAction } from '#conductor/flows/actions/action-store.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { actionTable } from '#conductor/model/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { judgeSteps } from '#conductor/sites/actions/end-action.ts';
import { dagId } from '#conductor/sites/actions/view-action.ts';
import { tagRevision as writeTag } from '#conductor/sites/revisions/revision-store.ts';

/**
 * Tags the revision of an action that got past the documents' validation: `site-action-success`, or
 * `site-action-failure` (seed 001 "Shipyard Tag Releases").
 */
export async function tagRevision({ context, action, lease }: ActionWork): Promise<StepEnd> {
  const { db } = context;
  if (!(await getAction(db, action.id)).validated) return { event: 'skipped' };
  const { state } = await readClaimed(db, lease);
  const steps = await listSteps(db, action.flowUuid);
  const { state: end } = judgeSteps(steps, { state, isStopped: false });
  const tag = end === 'succeeded' ? 'site-action-success' : 'site-action-failure';
  const { id, revisionId, user } = action;
  return {
    event: 'succeeded',
    notes: [{ step: 'tag_revision', verbosity: 1, text: `revision ${revisionId} tagged ${tag}` }],
    write: async (tx) => {
      const data = { action: id, dag_id: `${dagId(action)}.${id}`, ...(await flowReference(tx, action)) };
      await writeTag(tx, { revisionId, tag, data, user: user ?? undefined });
    },
  };
}

/** Of each node that was torn down and made again the action's last flow: its deploy, or what has failed. */
async function flowReference(
  tx: Transaction,
  { id, name }: Pick<SiteAction, 'id' | 'name'>,
): Promise<{ readonly flow?: Readonly<Record<string, string>> }> {
  if (actionTable[name].teardown === undefined) return {};
  const rows = await tx
    .selectDistinctOn([flows.nodeUuid], { node: nodes.name, nodeUuid: nodes.uuid, flow: flows.uuid })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(eq(flows.actionId, id))
    .orderBy(flows.nodeUuid, desc(flows.startedAt));
  return { flow: Object.fromEntries(rows.map(({ node, nodeUuid, flow }) => [node ?? nodeUuid, flow])) };
}
