import { type ApiRequest, asCurl, LoginNeeded, send } from '#conductor/board/ask-api.ts';
import { element, location, paint } from '#conductor/board/page.ts';
import { escapeHtml } from '#conductor/board/render-board.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** The dialog in which an operator chooses, reads what would come of it, and is asked once more. */

export interface AskOptions {
  /** Requests were sent. */
  readonly onDone: () => void;
  /** With what was refused, if anything, and by whom. */
  readonly onRefusal: (error: unknown) => void;
}

export interface Question {
  readonly title: string;
  /** What comes of it. */
  readonly meaning: string;
  /** Shown while it is prepared. */
  readonly asking?: string;
  /** What is to be read first, and what is sent after a yes. */
  readonly prepare: () => Prepared | Promise<Prepared>;
}

export interface Prepared {
  readonly sending: readonly Sending[];
  readonly html?: string;
  /** How many requests there are has to be typed first. */
  readonly isCounted?: boolean;
}

export interface Sending {
  /** Whom it is about. */
  readonly name: string;
  readonly request: ApiRequest;
}

/** A choice of questions, each with what its button says. */
export type Choices = readonly (readonly [label: string, question: Question])[];

const atOnce = 8;

const state = {
  options: undefined as AskOptions | undefined,
  choices: [] as Choices,
  /** Counts what was opened: an answer that comes late is for nobody. */
  opened: 0,
  sending: [] as readonly Sending[],
  /** To be typed, where many nodes lose what they have. */
  count: undefined as string | undefined,
};

/** Asks which of these is meant, and goes on with that. */
export function askWhich(
  { title, meaning, choices }: Pick<Question, 'title' | 'meaning'> & { readonly choices: Choices },
  options: AskOptions,
): void {
  open(options, title, meaning);
  state.choices = choices;
  const buttons = choices.map(
    ([label], index) => `<button type="button" data-choice="${index}">${escapeHtml(label)}</button>`,
  );
  paint('confirm-choices', buttons.join(' ') || '<p>Nothing can be done.</p>');
}

/** Asks once more, with what comes of it and how a shell would do it. */
export async function askFirst({ title, meaning, asking, prepare }: Question, options: AskOptions): Promise<void> {
  const mine = open(options, title, meaning);
  if (asking !== undefined) paint('confirm-plan', `<p>${escapeHtml(asking)}</p>`);
  try {
    const prepared = await prepare();
    if (mine !== state.opened) return;
    paint('confirm-plan', prepared.html ?? '');
    ready(prepared);
  } catch (error) {
    if (mine !== state.opened) return;
    if (error instanceof LoginNeeded) {
      element('confirm').close();
      options.onRefusal(error);
    } else paint('confirm-plan', `<p class="failed">${escapeHtml(reasonOf(error))}</p>`);
  }
}

function open(options: AskOptions, title: string, meaning: string): number {
  state.opened += 1;
  state.options = options;
  state.sending = [];
  state.count = undefined;
  element('confirm-title').textContent = title;
  element('confirm-meaning').textContent = meaning;
  element('confirm-curl').textContent = '';
  for (const part of ['confirm-choices', 'confirm-plan']) paint(part, '');
  for (const part of ['confirm-yes', 'confirm-curl', 'confirm-count-part']) element(part).hidden = true;
  element('confirm').showModal();
  return state.opened;
}

function ready({ sending, isCounted = false }: Prepared): void {
  const [first] = sending;
  if (!first) return;
  state.sending = sending;
  const more = sending.length > 1 ? `\nand ${sending.length - 1} more like it` : '';
  element('confirm-curl').textContent = `${asCurl(first.request, location.origin)}${more}`;
  element('confirm-curl').hidden = false;
  state.count = isCounted ? String(sending.length) : undefined;
  element('confirm-count').value = '';
  element('confirm-count-label').textContent = `How many nodes is that? Type ${sending.length}`;
  element('confirm-count-part').hidden = !isCounted;
  element('confirm-yes').hidden = false;
}

async function sendAll(sending: readonly Sending[], { onDone, onRefusal }: AskOptions): Promise<void> {
  const refusals: { readonly name: string; readonly error: unknown }[] = [];
  const trySend = ({ name, request }: Sending): Promise<unknown> =>
    send(request).catch((error: unknown) => refusals.push({ name, error }));
  await inParallel(sending, trySend, { atOnce });
  const [first] = refusals;
  onDone();
  if (!first) return;
  const count = `${refusals.length} of ${sending.length} were refused, first ${first.name}: ${reasonOf(first.error)}`;
  onRefusal(sending.length === 1 ? first.error : new Error(count));
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Once, when the page is there. */
export function prepareDialog(): void {
  element('confirm-no').addEventListener('click', () => element('confirm').close());
  element('confirm-choices').addEventListener('click', ({ target }) => {
    const [, chosen] = state.choices[Number(target?.closest('button')?.dataset['choice'] ?? -1)] ?? [];
    if (!chosen || !state.options) return;
    element('confirm').close();
    void askFirst(chosen, state.options);
  });
  element('confirm-yes').addEventListener('click', () => {
    if (state.count !== undefined && element('confirm-count').value.trim() !== state.count) {
      element('confirm-count').focus();
      return;
    }
    element('confirm').close();
    if (state.options) void sendAll(state.sending, state.options);
  });
}
