import { eq, sql } from 'drizzle-orm';
import type {
  ActionAnswer,
  ActionDryRun,
  ActionNoteAnswer,
  ActionStepAnswer,
  ValidationAnswer,
} from '#conductor/api/actions.ts';
import { listActionCommands, listActionSteps, type SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { type SiteActionNoteRow, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { type FlowState, requestOf } from '#conductor/model/flows/flow-states.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { listNotes } from '#conductor/sites/actions/action-notes.ts';
import { type ActionPlan, describeFromSite } from '#conductor/sites/actions/create-action.ts';
import { viewGroups } from '#conductor/sites/actions/view-groups.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

const iso = (time: Date | null) => time?.toISOString() ?? null;

/** The state in Airflow's words, which Shipyard's clients print. */
const dagStatus = {
  Pending: 'SCHEDULED',
  Processing: 'running',
  Paused: 'paused',
  Stopping: 'running',
  Stopped: 'failed',
  Complete: 'success',
  Failed: 'failed',
} as const satisfies Record<ActionAnswer['action_lifecycle'], string>;

const ends: Readonly<Partial<Record<FlowState, ActionAnswer['action_lifecycle']>>> = {
  succeeded: 'Complete',
  failed: 'Failed',
  aborted: 'Stopped',
};

/** Gives the action's lifecycle: an operator's request is seen before the runner follows it. */
function lifecycleOf(action: SiteAction, startedAt: Date | null): ActionAnswer['action_lifecycle'] {
  const request = requestOf(action);
  const open = request === 'abort' ? 'Stopping' : request === 'hold' ? 'Paused' : undefined;
  return ends[action.state] ?? open ?? (startedAt === null ? 'Pending' : 'Processing');
}

function viewNote(note: SiteActionNoteRow): ActionNoteAnswer {
  const { subject, verbosity, text, at } = note;
  return { subject, verbosity, text, at: at.toISOString(), ...noteKeys(note) };
}

function viewStep(actionId: string, step: FlowStepRow, notes: readonly SiteActionNoteRow[]): ActionStepAnswer {
  const { step: name, position, state, startedAt, endedAt, error } = step;
  return {
    id: name,
    url: `/actions/${actionId}/steps/${name}`,
    index: position,
    state: stepStates[state],
    started_at: iso(startedAt),
    ended_at: iso(endedAt),
    error,
    notes: notes.filter((note) => note.step === name).map(viewNote),
    ...stepKeys(step),
  };
}

/** Views actions as lists show them: without groups, and their steps without notes. */
export async function viewActions(
  { db }: Pick<SitesContext, 'db'>,
  actions: readonly SiteAction[],
  verbosity: number,
): Promise<ActionAnswer[]> {
  const ids = actions.map(({ id }) => id);
  const steps = Map.groupBy(await listActionSteps(db, actions), ({ flowUuid }) => flowUuid);
  const notes = Map.groupBy(await listNotes(db, ids, { verbosity, step: null }), ({ actionId }) => actionId);
  return actions.map((action) => {
    return answerOf(action, steps.get(action.flowUuid) ?? [], [], (notes.get(action.id) ?? []).map(viewNote));
  });
}

interface FullView {
  readonly verbosity: number;
  /** Only notes behind this one. */
  readonly since?: number | undefined;
  /** Groups with their members' names. */
  readonly members?: boolean | undefined;
}

export async function viewActionInFull(
  { db }: Pick<SitesContext, 'db'>,
  action: SiteAction,
  { verbosity, since, members = false }: FullView,
): Promise<ActionAnswer> {
  const { id } = action;
  const steps = await listActionSteps(db, [action]);
  const notes = await listNotes(db, [id], { verbosity, since });
  const commands = await listActionCommands(db, id);
  const ofAction = notes.filter(({ step }) => step === null);
  return {
    ...answerOf(action, steps, notes, ofAction.map(viewNote)),
    runner: await viewRunner(db, action),
    ...(await viewGroups(db, action, { members })),
    validations: viewValidations(id, action.validations),
    command_audit: commands.map(({ command, user, at }) => ({ command, user, datetime: at.toISOString() })),
  };
}

function answerOf(
  action: SiteAction,
  steps: readonly FlowStepRow[],
  ofSteps: readonly SiteActionNoteRow[],
  notes: readonly ActionNoteAnswer[],
): ActionAnswer {
  const startedAt = steps[0]?.startedAt ?? null;
  const lifecycle = lifecycleOf(action, startedAt);
  const created = action.createdAt.toISOString();
  return {
    id: action.id,
    name: action.name,
    parameters: action.parameters,
    user: action.user,
    timestamp: created,
    datetime: created,
    context_marker: action.contextMarker,
    committed_rev_id: action.revisionId,
    allow_intermediate_commits: action.allowIntermediateCommits,
    dag_id: dagId(action),
    dag_status: dagStatus[lifecycle],
    dag_execution_date: iso(startedAt),
    action_lifecycle: lifecycle,
    started_at: iso(startedAt),
    ended_at: iso(action.endedAt),
    error: action.error,
    steps: steps.map((step) => viewStep(action.id, step, ofSteps)),
    notes,
  };
}

/** Names an action's run as Shipyard's tags and answers do. */
export function dagId({ name }: Pick<SiteAction, 'name'>): string {
  return `baton_${name}`;
}

/** Names the runner of an action that has not ended, by the database's clock. */
async function viewRunner(
  db: SitesContext['db'],
  { id, endedAt }: Pick<SiteAction, 'id' | 'endedAt'>,
): Promise<NonNullable<ActionAnswer['runner']> | null> {
  if (endedAt !== null) return null;
  const { holder, expiresAt } = siteActions;
  const [row] = await db
    .select({ holder, expiresAt, isValid: sql<boolean>`coalesce(${expiresAt} >= now(), false)` })
    .from(siteActions)
    .where(eq(siteActions.id, id));
  if (!row || row.holder === null) return null;
  return { conductor: row.holder, lease_expires_at: iso(row.expiresAt), lease_valid: row.isValid };
}

/** @throws AppError `not_found` for a step that the action has not. */
export async function viewActionStep(
  { db }: Pick<SitesContext, 'db'>,
  action: SiteAction,
  { step, verbosity, since }: Omit<FullView, 'members'> & { readonly step: string },
): Promise<ActionStepAnswer> {
  const steps = await listActionSteps(db, [action]);
  const found = steps.find((each) => each.step === step);
  if (!found) {
    const names = steps.map((each) => each.step).join(', ');
    throw new AppError('not_found', `Step ${step} of action ${action.id} could not be found; it has ${names}.`);
  }
  return viewStep(action.id, found, await listNotes(db, [action.id], { verbosity, step, since }));
}

/** @throws AppError `not_found` for a validation that the action has not. */
export function viewActionValidation(
  action: Pick<SiteAction, 'id' | 'validations'>,
  validation: string,
): ValidationAnswer {
  const all = viewValidations(action.id, action.validations);
  const found = all.find(({ id }) => id === validation);
  if (found) return found;
  throw new AppError(
    'not_found',
    `Validation ${validation} of action ${action.id} could not be found; it has ${all.length}.`,
  );
}

/** Views the answer of a dry run: groups in their order, with the nodes that they would have. */
export function viewPlan(plan: ActionPlan): ActionDryRun {
  const { name, revisionId, faults, run, foreseen } = plan;
  const failures = [...(foreseen?.nodes ?? [])].map(([node, why]) => `${node} would fail, untouched: ${why}`);
  const remarks = [...describeFromSite(plan), ...failures];
  const [refused] = foreseen?.groups ?? [];
  return {
    dry_run: true,
    name,
    committed_rev_id: revisionId,
    max_parallel_groups: run.maxParallelGroups,
    groups: run.groups.map(({ definition, members }) => ({
      name: definition.name,
      critical: definition.critical,
      depends_on: definition.depends_on,
      members,
    })),
    validations: faults,
    ...(remarks.length > 0 ? { remarks } : {}),
    ...(refused === undefined ? {} : { refused: foreseen?.groups.join('; ') ?? refused }),
  };
}

/**
 * Adds the keys that Shipyard's client reads of actions, steps, notes and validations beside Baton's own
 * (airshipit/shipyard, `src/bin/shipyard_client/shipyard_client/cli/cli_format_common.py` and `format_utils.py`):
 * without them it prints nothing, or "Unparseable Note". Pure.
 */

/** States of a step in Airflow's words: by `success` and `failed` its client counts. */
const stepStates: Readonly<Record<FlowStepRow['state'], ActionStepAnswer['state']>> = {
  pending: 'pending',
  running: 'running',
  waiting: 'running',
  succeeded: 'success',
  failed: 'failed',
  skipped: 'skipped',
};

/** Its client takes ids of 26 letters and digits only (`cli/input_checks.py`). */
function paddedId(id: number): string {
  return String(id).padStart(26, '0');
}

function stepKeys({ step, startedAt, endedAt }: FlowStepRow) {
  return {
    task_id: step,
    start_date: startedAt?.toISOString() ?? null,
    end_date: endedAt?.toISOString() ?? null,
    /** Seconds. */
    duration: startedAt && endedAt ? (endedAt.getTime() - startedAt.getTime()) / 1000 : null,
    /** A step is tried once, and goes on where it was. */
    try_number: 1,
    operator: 'baton',
  };
}

function noteKeys({ id, actionId, step, text, at }: SiteActionNoteRow) {
  return {
    note_id: paddedId(id),
    assoc_id: step === null ? `action/${actionId}` : `step/${actionId}/${step}`,
    sub_type: step === null ? ('action' as const) : ('step' as const),
    note_val: text,
    note_timestamp: at.toISOString(),
    /** Baton's notes stand for themselves. */
    resolved_url_value: null,
  };
}

function viewValidations(actionId: string, faults: readonly SiteFault[]): ValidationAnswer[] {
  return faults.map((fault, index) => {
    const { level, name, message, document, path } = fault;
    const where = [document && `${document.schema} ${document.name}`, path].filter((part) => part !== undefined);
    return {
      ...fault,
      id: paddedId(index + 1),
      action_id: actionId,
      validation_name: name,
      details: `${level}: ${where.length > 0 ? `${where.join(', ')}: ` : ''}${message}`,
    };
  });
}
