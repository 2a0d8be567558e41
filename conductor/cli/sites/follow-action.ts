import type { ActionAnswer, ActionNodeAnswer, ActionNoteAnswer, ActionStepAnswer } from '#conductor/api/actions.ts';
import { readTimeout } from '#conductor/cli/nodes/provision.ts';
import { type ApiClient, callFor, lookPatiently, pollMs, withQuery } from '#conductor/cli/shell/api-client.ts';
import type { CommandContext, CommandInput } from '#conductor/cli/shell/command.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { describeForCli, print } from '#conductor/cli/shell/print.ts';
import { createPainter, printable, type Screen } from '#conductor/cli/shell/screen.ts';
import { countStatuses, headline, renderAction, stageWord } from '#conductor/cli/sites/render-action.ts';
import { describeOutdated } from '#conductor/model/remarks/outdated.ts';
import { concludeGroups, conclusions, describeNothingToDeploy } from '#conductor/model/site/site-report.ts';
import type { NodeStatus } from '#conductor/model/site/site-run.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Describes what happened between two looks at a site action, a line each, in order of time; for logs, where nothing
 * can be drawn over. Pure.
 */
export function describeActionChanges(before: ActionAnswer | undefined, after: ActionAnswer, now: Date): string[] {
  const known = before?.id === after.id ? before : undefined;
  const notes = [
    ...newNotes(known?.notes, after.notes),
    ...after.steps.flatMap((step, index) => (isReport(step) ? [] : newNotes(known?.steps[index]?.notes, step.notes))),
  ];
  const changes = [
    ...after.steps.flatMap((step, index) => stepStart(known?.steps[index], step)),
    ...notes.flatMap((note) => noteLines(note).map((text) => ({ at: note.at, text }))),
    ...after.steps.flatMap((step, index) => stepEnd(known?.steps[index], step, now)),
  ];
  const lines = changes.toSorted((a, b) => timeOf(a.at) - timeOf(b.at)).map(({ text }) => text);
  if (known?.action_lifecycle === after.action_lifecycle) return lines;
  // why it failed has its step said, and the report says it
  const lifecycle = `${after.name} ${after.id}: ${after.action_lifecycle}`;
  return after.ended_at === null ? [lifecycle, ...lines] : [...lines, lifecycle];
}

/** Gives the time of an entry; one that has no time yet is shown last. */
function timeOf(at: string | null): number {
  return at === null ? Number.MAX_SAFE_INTEGER : Date.parse(at);
}

/** Anyone who waits for the end prints its own report. */
export function isReport({ id }: Pick<ActionStepAnswer, 'id'>): boolean {
  return id === 'final_report';
}

/** Notes are only ever added. */
function newNotes(
  before: readonly ActionNoteAnswer[] | undefined,
  after: readonly ActionNoteAnswer[],
): readonly ActionNoteAnswer[] {
  return after.slice(before?.length ?? 0);
}

/** A note as it stands in a log; reports have several lines. */
export function noteLines({ subject, text }: ActionNoteAnswer): string[] {
  const [first = '', ...more] = text.split('\n');
  const head = subject === null || first.includes(subject) ? first : `${subject}: ${first}`;
  return [head, ...more.map((line) => `  ${line}`)];
}

interface Change {
  readonly at: string | null;
  readonly text: string;
}

function stepStart(before: ActionStepAnswer | undefined, { id, state, started_at: at }: ActionStepAnswer): Change[] {
  return before?.state !== state && state === 'running' ? [{ at, text: `${id} started` }] : [];
}

function stepEnd(
  before: ActionStepAnswer | undefined,
  { id, state, started_at: since, ended_at: at, error }: ActionStepAnswer,
  now: Date,
): Change[] {
  if (before?.state === state || state === 'pending' || state === 'running') return [];
  const took = since === null ? '' : ` after ${formatDuration(spanMs(since, at, now))}`;
  return [{ at, text: `${id} ${state === 'success' ? 'done' : state}${took}${error === null ? '' : `: ${error}`}` }];
}

const mostFailures = 50;
const mostNames = 40;

/**
 * The report that seed 000 asks for at the end: groups with their end and its reason, nodes by status, also those left
 * `not started` and `prepared`, and what it comes to. Pure.
 */
export function renderActionReport(action: ActionAnswer, nodes: readonly ActionNodeAnswer[], now: Date): string[] {
  const { groups = [], nodes_by_status: counts } = action;
  const lines = groups.map(({ name, critical, stage, reason }) => {
    const end = stage === 'success' || stage === 'failure' ? 'ended with stage' : 'is left with stage';
    return `Group ${name}${critical ? ' [Critical]' : ''} ${end}: ${stageWord(stage)}${reason === null ? '' : `: ${reason}`}`;
  });
  const ofNodes = counts === undefined || groups.length === 0 ? [] : [`Nodes: ${countStatuses(counts)}`];
  const byStatus = Map.groupBy(nodes, ({ status }) => status);
  const failures = (byStatus.get('failure') ?? []).slice(0, mostFailures);
  return [
    ...lines,
    ...ofNodes,
    ...failures.map(({ name, remark }) => `  failure: ${name}${remark ? `: ${describeForCli(remark)}` : ''}`),
    ...(failures[0] && groups.length > 0 ? [`  → baton history ${failures[0].name} shows what was done to it`] : []),
    ...moreOf('failure', (byStatus.get('failure')?.length ?? 0) - failures.length, action.id),
    ...leftToDo(action, nodes),
    ...namesOf('prepared', byStatus, action.id),
    ...namesOf('not_started', byStatus, action.id),
    ...describeOutdated(nodes),
    ...nothingDeployed(action),
    `${headline(action, now)}: ${concludeAction(action)}`,
  ];
}

/** Recognizes an action that deploys by groups, has had its way, and deployed nothing. */
function nothingDeployed({
  action_lifecycle: state,
  steps,
  groups = [],
  nodes_by_status: counts,
}: ActionAnswer): string[] {
  if (state !== 'Complete' || !counts || steps.every(({ id }) => id !== 'baremetal_nodes')) return [];
  const nodes = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return describeNothingToDeploy({ groups: groups.length, nodes });
}

/** Lists for nodes that were torn down half way what was done, and what a person has to do. */
function leftToDo({ steps }: ActionAnswer, nodes: readonly ActionNodeAnswer[]): string[] {
  const names = new Set(nodes.map(({ name }) => name));
  const notes = steps.filter(isReport).flatMap((step) => step.notes);
  return notes
    .filter(({ subject, verbosity }) => subject !== null && names.has(subject) && verbosity === 1)
    .flatMap(noteLines)
    .map((line) => `  ${line}`);
}

/** `success with some nodes/groups failed`, `failed due to critical group failed`, or why it came to no end of its own. */
function concludeAction(action: ActionAnswer): string {
  const { groups = [], nodes_by_status: counts, error, action_lifecycle: state } = action;
  const outcome = concludeGroups(groups, counts?.failure ?? 0);
  if (state === 'Complete') return conclusions[outcome];
  const isCritical = state === 'Failed' && outcome === 'failure';
  return (
    [...(isCritical ? [conclusions.failure] : []), ...(error === null ? [] : [error])].join('; ') || state.toLowerCase()
  );
}

function namesOf(
  status: NodeStatus,
  nodes: ReadonlyMap<NodeStatus, readonly ActionNodeAnswer[]>,
  actionId: string,
): string[] {
  const all = nodes.get(status) ?? [];
  if (all.length === 0) return [];
  const names = all.slice(0, mostNames).map(({ name }) => name);
  return [`  ${status.replace('_', ' ')}: ${names.join(', ')}`, ...moreOf(status, all.length - names.length, actionId)];
}

function moreOf(status: NodeStatus, count: number, actionId: string): string[] {
  return count > 0 ? [`  ${count} more: baton action nodes ${actionId} --status ${status}`] : [];
}

export interface WatchActionOptions {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Nothing is shown while it goes on. */
  readonly quiet?: boolean | undefined;
  /** Give up, not the action but the watching. Default: never. */
  readonly timeoutMs?: number | undefined;
}

export const actionsPath = '/api/v1.0/actions';

/** Verbosity of what is shown besides the ends of groups: that they begin, and what is broken off. */
const verbosity = 2;
/** A look at 10,000 nodes is work for the conductor: the time between two is some times what one takes. */
const restFactor = 4;
const longestRestMs = 5_000;

/**
 * Shows a site action until it has ended: on a terminal a live tree of its groups, else each change once.
 * @throws AppError `not_found`, `timeout`, `unavailable` when the conductor has been away for a minute
 */
async function watchAction(client: ApiClient, id: string, options: WatchActionOptions): Promise<ActionAnswer> {
  const { clock, screen } = options;
  const isLive = screen.isTerminal && options.quiet !== true;
  const show = options.quiet ? () => undefined : isLive ? painter(options) : printer(options);
  const began = clock.now().getTime();
  let known: ActionAnswer | undefined;
  for (;;) {
    const asked = clock.now().getTime();
    const [action, working] = await lookPatiently(async () => {
      const seen = await getAction(client, id, verbosity, lastNote(known));
      return [withNotesOf(known, seen), isLive ? await listActionNodes(client, id, { working: 'true' }) : []] as const;
    }, clock);
    known = action;
    show(action, working);
    if (action.ended_at !== null) return action;
    const now = clock.now().getTime();
    if (options.timeoutMs !== undefined && now - began > options.timeoutMs) {
      throw new AppError('timeout', `wait for ${action.name} ${id}: it has not ended; it goes on`);
    }
    await clock.sleep(Math.min(longestRestMs, Math.max(pollMs, restFactor * (now - asked))));
  }
}

/** The id of the newest note of an answer. */
function lastNote(action: ActionAnswer | undefined): string | undefined {
  const notes = action ? [...action.notes, ...action.steps.flatMap((step) => step.notes)] : [];
  const last = notes.reduce((most, { note_id: id }) => Math.max(most, Number(id)), 0);
  return last === 0 ? undefined : String(last);
}

/** An answer that has only the newer notes, with those that are known already. */
function withNotesOf(known: ActionAnswer | undefined, seen: ActionAnswer): ActionAnswer {
  if (!known) return seen;
  return {
    ...seen,
    notes: [...known.notes, ...seen.notes],
    steps: seen.steps.map((step, index) => ({ ...step, notes: [...(known.steps[index]?.notes ?? []), ...step.notes] })),
  };
}

/** @param since a note_id; only notes behind it @throws AppError `not_found` */
export async function getAction(client: ApiClient, id: string, level = 1, since?: string): Promise<ActionAnswer> {
  const path = withQuery(`${actionsPath}/${encodeURIComponent(id)}`, { verbosity: level, since });
  const action = await callFor<ActionAnswer>(client, 'GET', path);
  if (!action) throw new AppError('not_found', `Action ${id} could not be found.`);
  return action;
}

/** @param query `{ status: 'failure' }` */
export async function listActionNodes(
  client: ApiClient,
  id: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly ActionNodeAnswer[]> {
  const path = withQuery(`${actionsPath}/${encodeURIComponent(id)}/nodes`, query);
  const answer = await callFor<{ readonly nodes: readonly ActionNodeAnswer[] }>(client, 'GET', path);
  if (!answer) throw new AppError('not_found', `Action ${id} could not be found.`);
  return answer.nodes;
}

type Show = (action: ActionAnswer, working: readonly ActionNodeAnswer[]) => void;

function painter({ screen, clock }: WatchActionOptions): Show {
  const paint = createPainter(screen);
  return (action, working) =>
    paint(action.id, renderAction(action, { now: clock.now(), size: screen.size(), working }));
}

function printer({ screen, clock }: WatchActionOptions): Show {
  let before: ActionAnswer | undefined;
  return (action) => {
    const lines = describeActionChanges(before, action, clock.now());
    if (lines.length > 0) screen.write(lines.map((line) => `${printable(line)}\n`).join(''));
    before = action;
  };
}

export const actionWaitOptions = {
  wait: { meaning: 'show the groups as they are deployed until the action has ended, then the report' },
  timeout: { value: 'SECONDS', goesWith: 'wait', meaning: 'with --wait: stop waiting then; the action goes on' },
} as const;

/**
 * Shows an action until its end, then the report.
 * @throws AppError `command_failed` unless it is complete: then a critical group failed
 */
export async function followAction(context: CommandContext, input: CommandInput, id: string): Promise<void> {
  const quiet = input.document !== undefined;
  const action = await watchAction(context.client, id, { ...context, quiet, timeoutMs: readTimeout(input) });
  const nodes = await listActionNodes(context.client, id);
  const report = renderActionReport(action, nodes, context.clock.now());
  // what sets the report off from the tree above it
  const text = ['', ...report].map((line) => `${printable(line)}\n`).join('');
  print(context, input, { json: { action, nodes }, text });
  if (action.action_lifecycle === 'Complete') return;
  // the report has said why
  const why = quiet ? `: ${concludeAction(action)}` : '';
  throw new AppError('command_failed', `${action.name} is ${action.action_lifecycle}${why}`);
}
