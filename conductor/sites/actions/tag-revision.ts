import { desc, eq } from 'drizzle-orm';
import { listSteps } from '#conductor/flows/log/flow-store.ts';
import { readClaimed } from '#conductor/flows/site-actions/action-lease.ts';
import { getAction, type SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { isOutdated } from '#conductor/model/remarks/outdated.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { nameNodes } from '#conductor/sites/actions/action-notes.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { judgeSteps } from '#conductor/sites/actions/settle-run.ts';
import { dagId } from '#conductor/sites/actions/view-action.ts';
import { tagRevision as writeTag } from '#conductor/sites/revisions/revision-store.ts';
import { addCoverage, type Coverage, readCoverage } from '#conductor/sites/revisions/revision-tags.ts';

/**
 * Tags the revision of an action that got past the documents' validation: `site-action-success`, or
 * `site-action-failure` (seed 001 "Shipyard Tag Releases").
 */
export async function tagRevision({ context, action, lease, site }: ActionWork): Promise<StepEnd> {
  const { db } = context;
  if (!(await getAction(db, action.id)).validated) return { event: 'skipped' };
  const { state } = await readClaimed(db, lease);
  const steps = await listSteps(db, action.flowUuid);
  const { state: end } = judgeSteps(steps, { state, isStopped: false });
  const isGood = end === 'succeeded';
  const tag = isGood ? 'site-action-success' : 'site-action-failure';
  const { id, revisionId, user } = action;
  const covered = isGood ? await readCovered(db, action, [...(await site()).nodes.keys()]) : {};
  return {
    event: 'succeeded',
    notes: [{ step: 'tag_revision', verbosity: 1, text: `revision ${revisionId} tagged ${tag}${whatOf(covered)}` }],
    write: async (tx) => {
      const reference = { action: id, dag_id: `${dagId(action)}.${id}`, ...(await flowReference(tx, action)) };
      const before = isGood ? await readCoverage(tx, revisionId) : undefined;
      const data = { ...reference, ...addCoverage(before, covered) };
      await writeTag(tx, { revisionId, tag, data, user: user ?? undefined });
    },
  };
}

/**
 * Nodes that are now as the revision has them: those it redeployed, or all but those that a whole-site action left as they
 * were, or that no group chose.
 */
async function readCovered(
  db: Queryable,
  { id, name }: Pick<SiteAction, 'id' | 'name'>,
  documented: readonly string[],
): Promise<Coverage> {
  const chosen = (await loadRun(db, id, 1))?.nodes ?? new Map<string, never>();
  const run = [...chosen];
  const isCovered = ([, { status, reason }]: (typeof run)[number]) => status === 'success' && !isOutdated(reason);
  const names = (list: typeof run): string[] => list.map(([node]) => node).sort();
  if (actionTable[name].teardown !== undefined) return { nodes: names(run.filter(isCovered)) };
  const unchosen = documented.filter((node) => !chosen.has(node));
  const except = [...names(run.filter((each) => !isCovered(each))), ...unchosen].sort();
  return except.length === 0 ? {} : { except };
}

function whatOf({ nodes, except }: Coverage): string {
  if (nodes) return ` for ${nameNodes(nodes)}`;
  return except ? ` for all nodes but ${nameNodes(except)}` : '';
}

/** Refers to the action's last flow of each node that was torn down and made again: its deploy, or what has failed. */
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
