import type { PlanView } from '#conductor/api/flows.ts';
import { type ApiRequest, asCurl, send } from '#conductor/board/ask-api.ts';
import type { FleetAction } from '#conductor/board/board-actions.ts';
import { element, location, paint } from '#conductor/board/page.ts';
import { escapeHtml } from '#conductor/board/render-board.ts';
import { type NodePlan, renderPlans } from '#conductor/board/render-plans.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** The dialog in which an operator chooses, reads what would come of it, and is asked once more. */

export interface AskOptions {
  /** Requests were sent. */
  readonly onDone: () => void;
  /** With what was refused, if anything, and by whom. */
  readonly onRefusal: (error: unknown) => void;
}

/** More are not asked for at once: plans and requests are one a node. */
const mostNodes = 500;
const atOnce = 8;

interface Sending {
  readonly name: string;
  readonly request: ApiRequest;
}

const state = {
  options: undefined as AskOptions | undefined,
  choices: {} as Readonly<Record<string, FleetAction>>,
  /** Counts what was opened: an answer that comes late is for nobody. */
  opened: 0,
  sending: [] as readonly Sending[],
  /** To be typed, where many nodes lose what they have. */
  count: undefined as string | undefined,
};

/** Asks which of these actions is meant, and goes on with that. */
export function askWhich(choices: Readonly<Record<string, FleetAction>>, options: AskOptions): void {
  open(options, 'Act on the nodes shown', 'Of each, those that it can be done to.');
  state.choices = choices;
  const buttons = Object.values(choices).map(
    ({ title, nodes }) =>
      `<button type="button" data-choice="${escapeHtml(title)}">${escapeHtml(title)}: ${nodes.length}</button>`,
  );
  paint('confirm-choices', buttons.join(' ') || '<p>Nothing can be done to them.</p>');
}

/** Asks once more, with what is destroyed and how a shell would do it. */
export async function askFirst(action: FleetAction, options: AskOptions): Promise<void> {
  const { title, meaning, nodes, plan } = action;
  const [first] = nodes;
  const whom = nodes.length === 1 ? (first?.node.name ?? first?.node.uuid) : `${nodes.length} nodes`;
  const mine = open(options, `${title}: ${whom}`, meaning);
  if (nodes.length > mostNodes) {
    element('confirm-meaning').textContent = `At most ${mostNodes} nodes at once: narrow the filter.`;
    return;
  }
  if (!plan) {
    ready(nodes.map(({ node, request }) => ({ name: node.name ?? node.uuid, request })));
    return;
  }
  paint('confirm-plan', '<p>Asking what would be destroyed…</p>');
  const plans = await inParallel(nodes, ({ node }) => planOf(node, plan.target), { atOnce });
  if (mine !== state.opened) return;
  paint('confirm-plan', renderPlans(plans));
  const possible = nodes.flatMap(({ node, request }, index) => {
    const known = plans[index]?.plan;
    if (!known) return [];
    const hash = plan.isBinding ? { plan_hash: known.hash } : {};
    const body = { ...(request.body as object), ...hash };
    return [{ name: node.name ?? node.uuid, request: { ...request, body } }];
  });
  ready(possible, possible.length > 1 && plans.some((each) => (each.plan?.destroys.length ?? 0) > 0));
}

async function planOf(node: NodePlan['node'], target: string): Promise<NodePlan> {
  try {
    const answer = await send({ method: 'POST', path: `v1/nodes/${node.uuid}/plan`, body: { target } });
    return { node, plan: (await answer.json()) as PlanView, refusal: undefined };
  } catch (error) {
    return { node, plan: undefined, refusal: error instanceof Error ? error.message : String(error) };
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
  for (const part of ['confirm-yes', 'confirm-count-part']) element(part).hidden = true;
  element('confirm').showModal();
  return state.opened;
}

function ready(sending: readonly Sending[], needsCount = false): void {
  const [first] = sending;
  if (!first) return;
  state.sending = sending;
  const more = sending.length > 1 ? `\nand ${sending.length - 1} more like it` : '';
  element('confirm-curl').textContent = `${asCurl(first.request, location.origin)}${more}`;
  state.count = needsCount ? String(sending.length) : undefined;
  element('confirm-count').value = '';
  element('confirm-count-label').textContent = `How many nodes is that? Type ${sending.length}`;
  element('confirm-count-part').hidden = !needsCount;
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
  const reason = first.error instanceof Error ? first.error.message : String(first.error);
  const count = `${refusals.length} of ${sending.length} were refused, first ${first.name}: ${reason}`;
  onRefusal(sending.length === 1 ? first.error : new Error(count));
}

/** Once, when the page is there. */
export function prepareDialog(): void {
  element('confirm-no').addEventListener('click', () => element('confirm').close());
  element('confirm-choices').addEventListener('click', ({ target }) => {
    const chosen = state.choices[target?.closest('button')?.dataset['choice'] ?? ''];
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
