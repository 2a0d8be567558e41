import { desc, eq, sql } from 'drizzle-orm';
import { listActionSteps, recordStep } from '#conductor/flows/actions/action-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type SiteActionRow, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { actionTable } from '#conductor/model/action-table.ts';
import { type ActionWork, record } from '#conductor/sites/actions/action-work.ts';
import { addNotes } from '#conductor/sites/actions/note-store.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import { tellOfAction } from '#conductor/sites/actions/tell-of-action.ts';
import { dagId } from '#conductor/sites/actions/view-action.ts';
import { tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Ends an action whose steps have ended, and in the same transaction tags its revision: `site-action-success`, or
 * `site-action-failure` when it got past the documents' validation (seed 001 "Shipyard Tag Releases").
 */
export async function endAction(work: ActionWork): Promise<void> {
  const { context, action, lease } = work;
  const end = await record(work, async (tx, { wanted }) => {
    const row = await readAction(tx, action.id);
    const how = await judgeSteps(tx, row, wanted);
    const tag = await tagIts(tx, row, how.state);
    await tx
      .update(siteActions)
      .set({ ...how, endedAt: sql`now()`, holder: null, expiresAt: null })
      .where(eq(siteActions.id, lease.actionId));
    const text = `${row.name} ${how.state}${how.error === null ? '' : `: ${how.error}`}`;
    const tagged = tag === undefined ? '' : `; revision ${row.revisionId} tagged ${tag}`;
    await addNotes(tx, row.id, [{ verbosity: 1, text: `${text}${tagged}` }]);
    await tellOfAction(tx, { ...row, ...how });
    return how;
  });
  context.log.info({ action: action.id, name: action.name, ...end }, 'site action ended');
}

async function readAction(tx: Transaction, id: string): Promise<SiteActionRow> {
  const [row] = await tx.select().from(siteActions).where(eq(siteActions.id, id));
  if (!row) throw new AppError('internal', `site action ${id} is gone`);
  return row;
}

async function judgeSteps(
  tx: Transaction,
  { id }: Pick<SiteActionRow, 'id'>,
  wanted: SiteActionRow['wanted'],
): Promise<{ state: 'complete' | 'failed' | 'stopped'; error: string | null }> {
  const steps = await listActionSteps(tx, [id]);
  const failed = steps.find(({ state }) => state === 'failed');
  const isWhole = steps.every(({ state, name }) => state === 'done' || name === 'tag_revision');
  if (isWhole) return { state: 'complete', error: null };
  if (wanted === 'stop') return { state: 'stopped', error: stopReason };
  return { state: 'failed', error: failed ? `${failed.name}: ${failed.error ?? 'failed'}` : 'not all steps ran' };
}

async function tagIts(
  tx: Transaction,
  action: SiteActionRow,
  state: 'complete' | 'failed' | 'stopped',
): Promise<string | undefined> {
  const { id, name, revisionId, user, validated } = action;
  if (!actionTable[name].steps.includes('tag_revision')) return undefined;
  const step = { actionId: id, name: 'tag_revision' } as const;
  if (!validated) {
    await recordStep(tx, step, { state: 'skipped' });
    return undefined;
  }
  const tag = state === 'complete' ? 'site-action-success' : 'site-action-failure';
  await tagRevision(tx, {
    revisionId,
    tag,
    data: { action: id, dag_id: `${dagId(action)}.${id}`, ...(await flowReference(tx, action)) },
    user: user ?? undefined,
  });
  await recordStep(tx, step, { state: 'done' });
  return tag;
}

/** Of each node that was torn down and made anew the action's last flow: its deploy, or what has failed. */
async function flowReference(
  tx: Transaction,
  { id, name }: Pick<SiteActionRow, 'id' | 'name'>,
): Promise<{ readonly flow?: Readonly<Record<string, string>> }> {
  if (actionTable[name].teardown === undefined) return {};
  const rows = await tx
    .selectDistinctOn([flows.nodeUuid], { node: nodes.name, nodeUuid: flows.nodeUuid, flow: flows.uuid })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(eq(flows.actionId, id))
    .orderBy(flows.nodeUuid, desc(flows.startedAt));
  return { flow: Object.fromEntries(rows.map(({ node, nodeUuid, flow }) => [node ?? nodeUuid, flow])) };
}
