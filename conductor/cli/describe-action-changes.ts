import { formatDuration, spanMs } from '#conductor/cli/render-flow.ts';
import type { ActionAnswer, ActionNoteAnswer, ActionStepAnswer } from '#conductor/sites/actions/action-answer.ts';

/** What happened between two looks at a site action, a line each; for logs, where nothing can be drawn over. Pure. */
export function describeActionChanges(before: ActionAnswer | undefined, after: ActionAnswer, now: Date): string[] {
  const known = before?.id === after.id ? before : undefined;
  const notes = [
    ...newNotes(known?.notes, after.notes),
    ...after.steps.flatMap((step, index) => newNotes(known?.steps[index]?.notes, step.notes)),
  ].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const steps = after.steps.flatMap((step, index) => stepChange(known?.steps[index], step, now));
  const lifecycle =
    known?.action_lifecycle === after.action_lifecycle
      ? []
      : [`${after.name} ${after.id}: ${after.action_lifecycle}${after.error === null ? '' : `: ${after.error}`}`];
  // the end is said last, and what is under way before what it brings
  const started = steps.filter(({ isEnd }) => !isEnd).map(({ text }) => text);
  const ended = steps.filter(({ isEnd }) => isEnd).map(({ text }) => text);
  const middle = [...started, ...notes.map(({ subject, text }) => noteLine(subject, text)), ...ended];
  return after.ended_at === null ? [...lifecycle, ...middle] : [...middle, ...lifecycle];
}

/** Notes are only ever added. */
function newNotes(
  before: readonly ActionNoteAnswer[] | undefined,
  after: readonly ActionNoteAnswer[],
): readonly ActionNoteAnswer[] {
  return after.slice(before?.length ?? 0);
}

function noteLine(subject: string | null, text: string): string {
  // further on it may stand in advice: `prepare failed: … (baton watch ntp01)`
  const names = subject === null || (text.split(':', 1)[0] ?? '').includes(subject);
  return names ? text : `${subject}: ${text}`;
}

function stepChange(
  before: ActionStepAnswer | undefined,
  { id, state, started_at: since, ended_at: end, error }: ActionStepAnswer,
  now: Date,
): { readonly text: string; readonly isEnd: boolean }[] {
  if (before?.state === state || state === 'pending') return [];
  if (state === 'running') return [{ text: `${id} started`, isEnd: false }];
  const took = since === null ? '' : ` after ${formatDuration(spanMs(since, end, now))}`;
  return [{ text: `${id} ${state}${took}${error === null ? '' : `: ${error}`}`, isEnd: true }];
}
