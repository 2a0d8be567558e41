import type { ConductorContext } from '#conductor/context.ts';
import type { SiteActionNoteRow, SiteActionRow, SiteActionStepRow } from '#conductor/db/schema/site-action.ts';
import type {
  ActionAnswer,
  ActionNodeAnswer,
  ActionNoteAnswer,
  ActionStepAnswer,
} from '#conductor/sites/actions/action-answer.ts';
import { listActionCommands, listActionSteps } from '#conductor/sites/actions/action-store.ts';
import type { ActionPlan } from '#conductor/sites/actions/create-action.ts';
import { listNotes } from '#conductor/sites/actions/note-store.ts';
import { listActionNodes, listGroups } from '#conductor/sites/actions/run-store.ts';
import {
  noteKeys,
  stepKeys,
  stepStates,
  type ValidationAnswer,
  viewValidations,
} from '#conductor/sites/actions/shipyard-keys.ts';
import type { NodeStatus } from '#conductor/sites/strategy/site-run.ts';
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
  { db }: Pick<ConductorContext, 'db'>,
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

/** All there is to one action. */
export async function viewActionInFull(
  { db }: Pick<ConductorContext, 'db'>,
  action: SiteActionRow,
  verbosity: number,
): Promise<ActionAnswer> {
  const { id } = action;
  const steps = await listActionSteps(db, [id]);
  const notes = await listNotes(db, [id], { verbosity });
  const commands = await listActionCommands(db, id);
  const ofAction = notes.filter(({ step }) => step === null);
  return {
    ...answerOf(
      action,
      steps.map((step) => viewStep(step, notes)),
      ofAction.map(viewNote),
    ),
    ...(await viewGroups(db, id)),
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

async function viewGroups(
  db: ConductorContext['db'],
  actionId: string,
): Promise<Required<Pick<ActionAnswer, 'groups' | 'nodes_by_status'>>> {
  const groups = await listGroups(db, actionId);
  const nodes = new Map((await listActionNodes(db, actionId)).map((node) => [node.name, node]));
  const total = noNodes();
  for (const { status } of nodes.values()) total[status] += 1;
  const views = groups.map(({ name, definition, members, stage, reason, misses, prepareStartedAt, endedAt }) => {
    const counts = noNodes();
    let working = 0;
    for (const member of members) {
      const node = nodes.get(member);
      counts[node?.status ?? 'not_started'] += 1;
      if (node?.phase) working += 1;
    }
    return {
      name,
      critical: definition.critical,
      depends_on: definition.depends_on,
      stage,
      reason,
      misses,
      members,
      nodes_by_status: counts,
      working,
      started_at: iso(prepareStartedAt),
      ended_at: iso(endedAt),
    };
  });
  return { groups: views, nodes_by_status: total };
}

function noNodes(): Record<NodeStatus, number> {
  return { not_started: 0, prepared: 0, success: 0, failure: 0 };
}

/** @param wish only of this group, in this status, or at work */
export async function viewActionNodes(
  { db }: Pick<ConductorContext, 'db'>,
  actionId: string,
  wish: {
    readonly group?: string | undefined;
    readonly status?: NodeStatus | undefined;
    readonly working?: boolean | undefined;
  },
): Promise<ActionNodeAnswer[]> {
  const members =
    wish.group === undefined
      ? undefined
      : new Set((await listGroups(db, actionId)).find(({ name }) => name === wish.group)?.members);
  const rows = await listActionNodes(db, actionId);
  return rows
    .filter(({ name }) => members === undefined || members.has(name))
    .filter(({ status }) => wish.status === undefined || status === wish.status)
    .filter(({ phase }) => wish.working === undefined || (phase !== null) === wish.working)
    .map(({ name, status, phase, groupName, doing, cancelling, reason, phaseStartedAt, endedAt }) => ({
      name,
      status,
      phase,
      group: groupName,
      doing: cancelling === null ? doing : `being broken off: ${cancelling}`,
      reason,
      since: iso(endedAt ?? phaseStartedAt),
    }));
}

/** @throws AppError `not_found` for a step that the action has not. */
export async function viewActionStep(
  { db }: Pick<ConductorContext, 'db'>,
  action: SiteActionRow,
  { step, verbosity }: { readonly step: string; readonly verbosity: number },
): Promise<ActionStepAnswer> {
  const steps = await listActionSteps(db, [action.id]);
  const found = steps.find(({ name }) => name === step);
  if (!found) {
    const names = steps.map(({ name }) => name).join(', ');
    throw new AppError('not_found', `Step ${step} of action ${action.id} could not be found; it has ${names}.`);
  }
  return viewStep(found, await listNotes(db, [action.id], { verbosity, step }));
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
export function viewPlan({ name, revisionId, faults, run }: ActionPlan): Record<string, unknown> {
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
