import type { ActionAnswer, ActionNoteAnswer, ActionStepAnswer } from '#conductor/api/actions.ts';
import { formatDuration, spanMs } from '#conductor/cli/format-units.ts';

/**
 * What happened between two looks at a site action, a line each, in order of time; for logs, where nothing can be drawn
 * over. Pure.
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

/** What has no time yet is told last. */
function timeOf(at: string | null): number {
  return at === null ? Number.MAX_SAFE_INTEGER : Date.parse(at);
}

/** Whoever waits for the end prints a report of his own. */
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
