import { type ApiRequest, asCurl, LoginNeeded, Refused, send } from '#conductor/board/data/ask-api.ts';
import { element, location, paint } from '#conductor/board/page/page.ts';
import type { Correction } from '#conductor/board/render/board-corrections.ts';
import { type Html, html, joined, nothing } from '#conductor/board/render/html.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** The dialog in which an operator chooses, reads what would come of it, and is asked once more. */

export interface AskOptions {
  /** Requests were sent. */
  readonly onDone: () => void;
  /** Name of the asking user, as history shows it. */
  readonly user: () => string | null;
  /** Reports a refusal: what was refused, and by whom. */
  readonly onRefusal: (error: unknown) => void;
}

export interface Question {
  readonly title: string;
  /** The consequence of the action. */
  readonly meaning: string;
  /** Shown while it is prepared. */
  readonly asking?: string;
  /** Prepares what is to be read first, and what is sent after a yes. */
  readonly prepare: () => Prepared | Promise<Prepared>;
}

export interface Prepared {
  readonly sending: readonly Sending[];
  readonly html?: Html;
  /** How many requests there are has to be typed first. */
  readonly isCounted?: boolean;
  /** Text of the operator's that each request's body is to have. */
  readonly note?: { readonly label: string; readonly key: string };
  /** Values to be typed, of which each request's JSON patch is made. */
  readonly fields?: readonly Correction[];
  /** Composes the question that is asked in its place when the one request is refused because something has changed. */
  readonly onConflict?: () => Promise<Question | undefined>;
}

export interface Sending {
  /** Whom it is about. */
  readonly name: string;
  readonly request: ApiRequest;
}

/** A choice of questions, each with what its button says. */
export type Choices = readonly (readonly [label: string, question: Question])[];

const atOnce = 8;
const conflict = 409;

const state = {
  options: undefined as AskOptions | undefined,
  choices: [] as Choices,
  /** Counts what was opened: an answer that comes late is for nobody. */
  opened: 0,
  sending: [] as readonly Sending[],
  /** To be typed, where many nodes lose what they have. */
  count: undefined as string | undefined,
  note: undefined as Prepared['note'],
  fields: [] as readonly Correction[],
  onConflict: undefined as Prepared['onConflict'],
};

/** Asks which of these is meant, and goes on with that. */
export function askWhich(
  { title, meaning, choices }: Pick<Question, 'title' | 'meaning'> & { readonly choices: Choices },
  options: AskOptions,
): void {
  open(options, title, meaning);
  state.choices = choices;
  const buttons = choices.map(([label], index) => html`<button type="button" data-choice="${index}">${label}</button>`);
  paint('confirm-choices', buttons.length > 0 ? joined(buttons, ' ') : html`<p>Nothing can be done.</p>`);
}

/** Asks once more, with what comes of it and how a shell would do it. */
export async function askFirst({ title, meaning, asking, prepare }: Question, options: AskOptions): Promise<void> {
  const mine = open(options, title, meaning);
  if (asking !== undefined) paint('confirm-plan', html`<p class="loading">${asking}</p>`);
  try {
    const prepared = await prepare();
    if (mine !== state.opened) return;
    paint('confirm-plan', prepared.html ?? nothing);
    ready(prepared, options.user());
  } catch (error) {
    if (mine !== state.opened) return;
    if (error instanceof LoginNeeded) {
      element('confirm').close();
      options.onRefusal(error);
    } else paint('confirm-plan', html`<p class="failed">${reasonOf(error)}</p>`);
  }
}

function open(options: AskOptions, title: string, meaning: string): number {
  state.opened += 1;
  state.options = options;
  state.sending = [];
  state.count = undefined;
  state.note = undefined;
  state.fields = [];
  element('confirm-title').textContent = title;
  element('confirm-meaning').textContent = meaning;
  element('confirm-curl').textContent = '';
  for (const part of ['confirm-choices', 'confirm-plan', 'confirm-fields']) paint(part, nothing);
  for (const part of ['confirm-yes', 'confirm-curl', 'confirm-note-part', 'confirm-count-part'])
    element(part).hidden = true;
  element('confirm').showModal();
  return state.opened;
}

function ready({ sending, isCounted = false, note, fields = [], onConflict }: Prepared, user: string | null): void {
  if (sending.length === 0) return;
  state.sending = sending;
  state.note = note;
  state.fields = fields;
  paint('confirm-fields', joined(fields.map(renderField), ''));
  if (fields.length > 0) element('confirm-field-0').focus();
  state.onConflict = onConflict;
  if (note) {
    element('confirm-note').value = user === null ? '' : `${user}: `;
    element('confirm-note-label').textContent = note.label;
    element('confirm-note-part').hidden = false;
    element('confirm-note').focus();
  }
  showCurl();
  element('confirm-curl').hidden = false;
  state.count = isCounted ? String(sending.length) : undefined;
  element('confirm-count').value = '';
  element('confirm-count-label').textContent = `How many nodes is that? Type ${sending.length}`;
  element('confirm-count-part').hidden = !isCounted;
  element('confirm-yes').hidden = false;
}

function showCurl(): void {
  const [first, ...others] = withAnswers(true);
  const more = others.length > 0 ? `\nand ${others.length} more like it` : '';
  if (first) element('confirm-curl').textContent = `${asCurl(first.request, location.origin)}${more}`;
}

function renderField({ label, isSecret = false }: Correction, index: number): Html {
  const type = isSecret ? 'password' : 'text';
  return html`<p><label><span>${label}</span> <input id="confirm-field-${index}" type="${type}" maxlength="2000" autocomplete="off" spellcheck="false"></label></p>`;
}

/** Adds the note, or what was typed, to what is sent. @param isShown secrets are written as stars */
function withAnswers(isShown: boolean): readonly Sending[] {
  const { note, sending, fields } = state;
  if (fields.length > 0) {
    const body = fields.flatMap(({ write, isSecret }, index) => {
      const typed = element(`confirm-field-${index}`).value.trim();
      return typed === '' ? [] : write(isShown && isSecret ? '******' : typed);
    });
    return sending.map(({ name, request }) => ({ name, request: { ...request, body } }));
  }
  const text = element('confirm-note').value.trim();
  if (!note || text === '') return sending;
  return sending.map(({ name, request }) => ({
    name,
    request: { ...request, body: { ...(request.body as object), [note.key]: text } },
  }));
}

async function sendAll(sending: readonly Sending[], options: AskOptions): Promise<void> {
  const { onDone, onRefusal } = options;
  const { onConflict, opened } = state;
  const refusals: { readonly name: string; readonly error: unknown }[] = [];
  const trySend = ({ name, request }: Sending): Promise<unknown> =>
    send(request).catch((error: unknown) => refusals.push({ name, error }));
  await inParallel(sending, trySend, { atOnce });
  const [first] = refusals;
  onDone();
  if (!first) return;
  const count = `${refusals.length} of ${sending.length} were refused, first ${first.name}: ${reasonOf(first.error)}`;
  onRefusal(sending.length === 1 ? first.error : new Error(count));
  if (!onConflict || !(first.error instanceof Refused) || first.error.status !== conflict) return;
  const instead = await onConflict().catch(onRefusal);
  if (instead && opened === state.opened) await askFirst(instead, options);
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Once, when the page is there. */
export function prepareDialog(): void {
  for (const part of ['confirm-note', 'confirm-fields']) element(part).addEventListener('input', showCurl);
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
    // a patch that changes nothing is no answer
    if (state.fields.length > 0 && state.fields.every((_, at) => element(`confirm-field-${at}`).value.trim() === '')) {
      element('confirm-field-0').focus();
      return;
    }
    element('confirm').close();
    if (state.options) void sendAll(withAnswers(false), state.options);
  });
}
