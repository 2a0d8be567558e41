import { eq, sql } from 'drizzle-orm';
import type {
  ActionAnswer,
  ActionDryRun,
  ActionNoteAnswer,
  ActionStepAnswer,
  ValidationAnswer,
} from '#conductor/api/actions.ts';
import { listActionCommands, listActionSteps } from '#conductor/flows/actions/action-store.ts';
import {
  type SiteActionNoteRow,
  type SiteActionRow,
  type SiteActionStepRow,
  siteActions,
} from '#conductor/kernel/db/schema/site-action.ts';
import type { ActionPlan } from '#conductor/sites/actions/create-action.ts';
import { listNotes } from '#conductor/sites/actions/note-store.ts';
import { noteKeys, stepKeys, stepStates, viewValidations } from '#conductor/sites/actions/shipyard-keys.ts';
import { viewGroups } from '#conductor/sites/actions/view-groups.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

const iso = (time: Date | null) => time?.toISOString() ?? null;

/** The state in Airflow's words, which Shipyard's clients print. */
const dagStatus: Readonly<Record<SiteActionRow['state'], string>> = {
  pending: 'SCHEDULED',
  running: 'running',
  paused: 'paused',
  stopping: 'running',
  stopped: 'failed',
  complete: 'success',
  failed: 'failed',
};

const lifecycle: Readonly<Record<SiteActionRow['state'], ActionAnswer['action_lifecycle']>> = {
  pending: 'Pending',
  running: 'Processing',
  paused: 'Paused',
  stopping: 'Stopping',
  stopped: 'Stopped',
  complete: 'Complete',
  failed: 'Failed',
};

/** An operator who has asked for a pause or a stop sees it before the runner does. */
function shownState({ state, wanted, endedAt }: SiteActionRow): SiteActionRow['state'] {
  if (endedAt !== null) return state;
  if (wanted === 'stop') return 'stopping';
  return wanted === 'pause' ? 'paused' : state;
}

function viewNote(note: SiteActionNoteRow): ActionNoteAnswer {
  const { subject, verbosity, text, at } = note;
  return { subject, verbosity, text, at: at.toISOString(), ...noteKeys(note) };
}

function viewStep(step: SiteActionStepRow, notes: readonly SiteActionNoteRow[]): ActionStepAnswer {
  const { actionId, name, position, state, startedAt, endedAt, error } = step;
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

/** As lists show them: without groups, and their steps without notes. */
export async function viewActions(
  { db }: Pick<SitesContext, 'db'>,
  actions: readonly SiteActionRow[],
  verbosity: number,
): Promise<ActionAnswer[]> {
  const ids = actions.map(({ id }) => id);
  const steps = Map.groupBy(await listActionSteps(db, ids), ({ actionId }) => actionId);
  const notes = Map.groupBy(await listNotes(db, ids, { verbosity, step: null }), ({ actionId }) => actionId);
  return actions.map((action) => {
    const its = (steps.get(action.id) ?? []).map((step) => viewStep(step, []));
    return answerOf(action, its, (notes.get(action.id) ?? []).map(viewNote));
  });
}

interface FullView {
  readonly verbosity: number;
  /** Only notes behind this one. */
  readonly since?: number | undefined;
  /** Groups with their members' names. */
  readonly members?: boolean | undefined;
}

/** All there is to one action. */
export async function viewActionInFull(
  { db }: Pick<SitesContext, 'db'>,
  action: SiteActionRow,
  { verbosity, since, members = false }: FullView,
): Promise<ActionAnswer> {
  const { id } = action;
  const steps = await listActionSteps(db, [id]);
  const notes = await listNotes(db, [id], { verbosity, since });
  const commands = await listActionCommands(db, id);
  const ofAction = notes.filter(({ step }) => step === null);
  return {
    ...answerOf(
      action,
      steps.map((step) => viewStep(step, notes)),
      ofAction.map(viewNote),
    ),
    runner: await viewRunner(db, action),
    ...(await viewGroups(db, action, { members })),
    validations: viewValidations(id, action.validations),
    command_audit: commands.map(({ command, user, at }) => ({ command, user, datetime: at.toISOString() })),
  };
}

function answerOf(
  action: SiteActionRow,
  steps: readonly ActionStepAnswer[],
  notes: readonly ActionNoteAnswer[],
): ActionAnswer {
  const state = shownState(action);
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
    dag_status: dagStatus[state],
    dag_execution_date: iso(action.startedAt),
    action_lifecycle: lifecycle[state],
    started_at: iso(action.startedAt),
    ended_at: iso(action.endedAt),
    error: action.error,
    steps,
    notes,
  };
}

/** Names an action's run as Shipyard's tags and answers do. */
export function dagId({ name }: Pick<SiteActionRow, 'name'>): string {
  return `baton_${name}`;
}

/** Who runs an action that has not ended, by the database's clock. */
async function viewRunner(
  db: SitesContext['db'],
  { id, endedAt }: Pick<SiteActionRow, 'id' | 'endedAt'>,
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
  action: SiteActionRow,
  { step, verbosity, since }: Omit<FullView, 'members'> & { readonly step: string },
): Promise<ActionStepAnswer> {
  const steps = await listActionSteps(db, [action.id]);
  const found = steps.find(({ name }) => name === step);
  if (!found) {
    const names = steps.map(({ name }) => name).join(', ');
    throw new AppError('not_found', `Step ${step} of action ${action.id} could not be found; it has ${names}.`);
  }
  return viewStep(found, await listNotes(db, [action.id], { verbosity, step, since }));
}

/** @throws AppError `not_found` for a validation that the action has not. */
export function viewActionValidation(
  action: Pick<SiteActionRow, 'id' | 'validations'>,
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

/** What a dry run answers: groups in their order, with the nodes that they would have. */
export function viewPlan({ name, revisionId, faults, run }: ActionPlan): ActionDryRun {
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
  };
}
