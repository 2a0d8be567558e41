import type { ActionAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { type ApiClient, callFor } from '#conductor/cli/api-client.ts';
import { describeActionChanges } from '#conductor/cli/describe-action-changes.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { lookPatiently, pollMs } from '#conductor/cli/look-patiently.ts';
import { createPainter, type Screen } from '#conductor/cli/paint-lines.ts';
import { renderAction } from '#conductor/cli/render-action.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface WatchActionOptions {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Nothing is shown while it goes on. */
  readonly quiet?: boolean | undefined;
  /** Give up, not the action but the watching. Default: never. */
  readonly timeoutMs?: number | undefined;
}

export const actionsPath = '/api/v1.0/actions';

/** What is told besides the ends of groups: that they begin, and what is broken off. */
const verbosity = 2;
/** A look at 10,000 nodes is work for the conductor: the time between two is some times what one takes. */
const restFactor = 4;
const longestRestMs = 5_000;

/**
 * Shows a site action until it has ended: on a terminal a live tree of its groups, else each change once.
 * @throws AppError `not_found`, `timeout`, `unavailable` when the conductor has been away for a minute
 */
export async function watchAction(client: ApiClient, id: string, options: WatchActionOptions): Promise<ActionAnswer> {
  const { clock, screen } = options;
  const isLive = screen.isTerminal && options.quiet !== true;
  const show = options.quiet ? () => undefined : isLive ? painter(options) : printer(options);
  const began = clock.now().getTime();
  let known: ActionAnswer | undefined;
  for (;;) {
    const asked = clock.now().getTime();
    const [action, working] = await lookPatiently(async () => {
      const seen = await getAction(client, id, verbosity, lastNote(known));
      return [withNotesOf(known, seen), isLive ? await listActionNodes(client, id, '?working=true') : []] as const;
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
  const query = `verbosity=${level}${since === undefined ? '' : `&since=${since}`}`;
  const action = await callFor<ActionAnswer>(client, 'GET', `${actionsPath}/${encodeURIComponent(id)}?${query}`);
  if (!action) throw new AppError('not_found', `Action ${id} could not be found.`);
  return action;
}

/** @param query `?status=failure` */
export async function listActionNodes(client: ApiClient, id: string, query = ''): Promise<readonly ActionNodeAnswer[]> {
  const path = `${actionsPath}/${encodeURIComponent(id)}/nodes${query}`;
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
