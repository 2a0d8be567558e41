import { and, asc, eq, gt, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm';
import type { SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';
import { flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type SiteActionNoteRow, siteActionNotes } from '#conductor/kernel/db/schema/site-action.ts';
import { notifyWebhooksOfSite } from '#conductor/kernel/outbox.ts';
import { pluginTaskTitle } from '#conductor/model/flows/planned-step.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import type { ActionStepName } from '#conductor/model/site/action-table.ts';
import { obstacleOf } from '#conductor/model/site/rollout.ts';
import type { Decision, GroupRun, NodeOutcome, SiteRun } from '#conductor/model/site/site-run.ts';
import { ulidAsUuid } from '#conductor/sites/actions/ulid.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

/** A note of what has happened, for people. */
export interface Note {
  /** Absent = the action as a whole. */
  readonly step?: ActionStepName;
  /** A group or a node. */
  readonly subject?: string;
  /** 1 = what everybody must know … 5 = every detail (airship.md §4.6). */
  readonly verbosity: 1 | 2 | 3 | 4 | 5;
  readonly text: string;
}

/** Appends the notes, in one statement. */
export async function addNotes(db: Queryable, actionId: string, notes: readonly Note[]): Promise<void> {
  if (notes.length === 0) return;
  await db.execute(sql`
    insert into site_action_notes (action_id, step, subject, verbosity, text)
    select ${actionId}::text, step, subject, verbosity, text
    from jsonb_to_recordset(${JSON.stringify(storableJson(notes))}::text::jsonb)
      as note(step text, subject text, verbosity integer, text text)`);
}

/**
 * In the order in which they were written.
 * @param step of one step; null = of the action as a whole; absent = all
 * @param since only those behind the one with this id: anyone who writes holds the action's row, so that ids of an action
 * become visible in their order
 */
export function listNotes(
  db: Queryable,
  actionIds: readonly string[],
  filter: { readonly verbosity: number; readonly step?: string | null; readonly since?: number | undefined },
): Promise<SiteActionNoteRow[]> {
  return db
    .select()
    .from(siteActionNotes)
    .where(
      and(
        inArray(siteActionNotes.actionId, [...actionIds]),
        lte(siteActionNotes.verbosity, filter.verbosity),
        ofStep(filter.step),
        filter.since === undefined ? undefined : gt(siteActionNotes.id, filter.since),
      ),
    )
    .orderBy(asc(siteActionNotes.id));
}

/** One, of whichever action. @throws AppError `not_found` */
export async function getNote(db: Queryable, id: string): Promise<SiteActionNoteRow> {
  const isId = /^\d{1,26}$/.test(id) && Number(id) <= Number.MAX_SAFE_INTEGER;
  const [row] = isId
    ? await db
        .select()
        .from(siteActionNotes)
        .where(eq(siteActionNotes.id, Number(id)))
    : [];
  if (!row) throw new AppError('not_found', `Note ${id} could not be found.`);
  return row;
}

function ofStep(step: string | null | undefined): SQL | undefined {
  if (step === undefined) return undefined;
  return step === null ? isNull(siteActionNotes.step) : eq(siteActionNotes.step, step);
}

/** Limit of events; of 10,000 nodes' events the first ones: the rest stands in each node's own history. */
const maximumEvents = 50_000;

/**
 * Reads what has happened in one step of an action, a line each, in order of time: its notes of every verbosity, and
 * for the step that deploys nodes what their flows did.
 */
export async function readActionLog(
  { db }: Pick<SitesContext, 'db'>,
  step: { readonly actionId: string; readonly name: string },
): Promise<string> {
  const notes = await listNotes(db, [step.actionId], { verbosity: 5, step: step.name });
  const lines = notes.map(({ at, subject, text }) => ({
    at,
    text: `${subject === null ? '' : `${subject}: `}${text}`,
  }));
  if (step.name === 'baremetal_nodes') lines.push(...(await readNodeEvents(db, step.actionId)));
  const inOrder = lines.sort((one, other) => one.at.getTime() - other.at.getTime());
  return inOrder.map(({ at, text }) => `${at.toISOString()} ${text.replaceAll('\n', '\n  ')}\n`).join('');
}

async function readNodeEvents(db: SitesContext['db'], actionId: string): Promise<{ at: Date; text: string }[]> {
  const rows = await db
    .select({
      at: flowEvents.at,
      event: flowEvents.event,
      detail: flowEvents.detail,
      interface: flowSteps.interface,
      step: flowSteps.step,
      plugin: flowSteps.plugin,
      kind: flows.kind,
      node: nodes.name,
      uuid: nodes.uuid,
    })
    .from(flows)
    .innerJoin(flowEvents, eq(flowEvents.flowUuid, flows.uuid))
    .innerJoin(flowSteps, eq(flowSteps.uuid, flowEvents.stepUuid))
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(eq(flows.actionId, actionId))
    .orderBy(asc(flowEvents.id))
    .limit(maximumEvents + 1);
  const lines = rows.slice(0, maximumEvents).map((row) => {
    const step = row.plugin ? pluginTaskTitle(row.plugin) : `${row.interface}.${row.step}`;
    const detail = row.detail === null ? '' : `: ${row.detail}`;
    return { at: row.at, text: `${row.node ?? row.uuid}: ${row.kind}: ${step} ${row.event}${detail}` };
  });
  const last = lines.at(-1);
  if (rows.length > maximumEvents && last) lines.push({ at: last.at, text: 'more events are in the nodes’ histories' });
  return lines;
}

/** Notifies webhooks of what became of an action, in the transaction that made it so. */
export async function notifyOfAction(
  db: Queryable,
  { id, name, state, error, user, revisionId, ...ids }: SiteAction,
): Promise<void> {
  const data = { action: { id, name }, state, error, user, revision: revisionId };
  await notifyWebhooksOfSite(db, ulidAsUuid(id), data, ids);
}

const step = 'baremetal_nodes';
const namedNodes = 20;

/** `n1, n2, n3 and 17 more` */
export function nameNodes(names: readonly string[]): string {
  return nameSome(names, namedNodes);
}

export function countNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** `control-nodes [Critical]`, as Shipyard's report has it. */
function titleGroup({ definition }: Pick<GroupRun, 'definition'>): string {
  return `${definition.name}${definition.critical ? ' [Critical]' : ''}`;
}

/** Notes what became of nodes, for people. @param afterwards of a teardown Pure. */
export function noteOutcomes(
  before: SiteRun,
  outcomes: ReadonlyMap<string, NodeOutcome>,
  afterwards: TeardownOrder['afterwards'] = 'deploy',
): Note[] {
  return [...outcomes].flatMap(([subject, outcome]): Note[] => {
    const phase = before.nodes.get(subject)?.work?.phase;
    if (phase === undefined || outcome.state === 'working') return [];
    if (outcome.state === 'failed') {
      const what = afterwards === 'deploy' ? phase : 'teardown';
      return [{ step, subject, verbosity: 1, text: `${what} failed: ${describeRemark(outcome.error)}` }];
    }
    // of a node that is not deployed again the second phase is empty
    if (afterwards !== 'deploy' && phase === 'deploy') return [];
    const text = phase === 'deploy' ? 'is deployed' : afterwards === 'deploy' ? 'is prepared' : 'is torn down';
    const { remark } = outcome;
    return [
      remark === undefined
        ? { step, subject, verbosity: 4, text }
        : { step, subject, verbosity: 3, text: `${text}: ${describeRemark(remark)}` },
    ];
  });
}

/** Decisions that are news; the others' effects are noted elsewhere. */
type NotedDecision = Exclude<Decision, { kind: 'settled' }>;

/** Notes what was decided, for people. @param afterwards of a teardown Pure. */
export function noteDecisions(
  run: SiteRun,
  decisions: readonly Decision[],
  afterwards: TeardownOrder['afterwards'] = 'deploy',
): Note[] {
  const groups = new Map(run.groups.map((group) => [group.definition.name, group]));
  return decisions.flatMap((decision): Note[] => {
    const group = groups.get(decision.group);
    if (!group || decision.kind === 'settled') return [];
    return afterwards === 'deploy' ? [noteDecision(group, decision)] : noteTeardown(group, decision);
  });
}

/** Notes a teardown: of nodes that are not deployed again there is one phase. */
function noteTeardown(group: GroupRun, decision: NotedDecision): Note[] {
  const subject = group.definition.name;
  if (decision.kind === 'enter stage') {
    return decision.stage === 'preparing' ? [{ step, subject, verbosity: 2, text: 'tearing down' }] : [];
  }
  if (decision.kind === 'begin') {
    const text = `teardown begins on ${nameNodes(decision.nodes)}`;
    return decision.phase === 'prepare' ? [{ step, subject, verbosity: 3, text }] : [];
  }
  return [noteDecision(group, decision)];
}

/** Describes each choice that a person has once the action has paused by itself. */
function choicesAfter(reason: Remark): string {
  const isGate = reason.code === 'gate-bad';
  const skip = isGate ? 'skip goes on without this gate' : 'skip goes on without canaries';
  const unpause = isGate ? 'unpause asks it again' : 'unpause goes on';
  return [unpause, ...(obstacleOf({ waits: reason }) ? [skip] : []), 'stop ends the action'].join(', ');
}

function noteDecision(group: GroupRun, decision: NotedDecision): Note {
  const subject = group.definition.name;
  if (decision.kind === 'enter stage') {
    const { stage } = decision;
    const text = stage === 'prepared' ? 'prepared' : `${stage}; ${countNodes(group.members.length)} in the group`;
    return { step, subject, verbosity: stage === 'prepared' ? 3 : 2, text };
  }
  if (decision.kind === 'end group') {
    const { stage, reason } = decision;
    const text = `Group ${titleGroup(group)} ended with stage: ${stage}${reason === undefined ? '' : `: ${reason}`}`;
    return { step, subject, verbosity: 1, text };
  }
  if (decision.kind === 'begin') {
    const text = `${decision.phase} begins on ${countNodes(decision.nodes.length)}: ${nameNodes(decision.nodes)}`;
    return { step, subject, verbosity: 3, text };
  }
  if (decision.kind === 'canaries') return { step, subject, verbosity: 2, text: `canaries ${decision.are}` };
  if (decision.kind === 'skip') {
    const text = decision.past
      ? `skipped: ${describeRemark(decision.past)}`
      : 'nothing was in its way that may be skipped';
    return { step, subject, verbosity: decision.past ? 1 : 3, text };
  }
  if (decision.kind === 'wait') {
    const text = decision.reason ? `begins no more for now: ${describeRemark(decision.reason)}` : 'begins the rest';
    return { step, subject, verbosity: 3, text };
  }
  if (decision.kind === 'pause') {
    const text = `paused by itself: ${describeRemark(decision.reason)}; ${choicesAfter(decision.reason)}`;
    return { step, subject, verbosity: 1, text };
  }
  const text = `broken off on ${countNodes(decision.nodes.length)}: ${nameNodes(decision.nodes)}: ${decision.reason}`;
  return { step, subject, verbosity: 2, text };
}
