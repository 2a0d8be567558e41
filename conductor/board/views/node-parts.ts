import { questionAbout } from '#conductor/board/page/ask-about-nodes.ts';
import { type AskOptions, askFirst } from '#conductor/board/page/ask-first.ts';
import type { Fleet } from '#conductor/board/page/follow-fleet.ts';
import { askToEnable, type ConsoleKind, closeConsole, openConsole } from '#conductor/board/page/open-console.ts';
import { element, type PageEvent, paint } from '#conductor/board/page/page.ts';
import {
  actionsFor,
  type BoardAction,
  joinSubject,
  type Subject,
  skipAction,
} from '#conductor/board/render/board-actions.ts';
import { html, nothing } from '#conductor/board/render/html.ts';
import { renderNodeHead, renderTab, renderTabs } from '#conductor/board/render/node/render-node.ts';
import type { BoardNode, BoardRow } from '#conductor/board/render/render-board.ts';
import type { NodePage } from '#conductor/board/views/node-page.ts';
import type { NamedNode } from '#conductor/board/views/read-address.ts';
import { stepName } from '#conductor/model/flows/planned-step.ts';

export interface NodePartsOptions {
  readonly fleet: Fleet;
  readonly page: NodePage;
  /** The node that is open, as far as it is known. */
  readonly openNode: () => BoardNode | undefined;
  readonly may: () => { readonly change: boolean; readonly openConsoles: boolean };
  readonly asking: AskOptions;
  readonly onRefusal: (error: unknown) => void;
}

/** The page of a node: shows it, and hears its buttons. @returns what shows it as it is now */
export function createNodeParts(options: NodePartsOptions): (named: NamedNode) => void {
  const { fleet, page, openNode, may, asking, onRefusal } = options;

  const openFlowOf = (node: BoardNode) => [...fleet.flows.values()].find((each) => each.node_uuid === node.uuid);
  const subjectOf = (node: BoardNode): Subject => joinSubject(node, page.now.flow, openFlowOf(node));
  const rowOf = (node: BoardNode): BoardRow => {
    const flow = openFlowOf(node);
    return flow ? { flow, node } : { flow: undefined, node };
  };

  const askAbout = (node: BoardNode, action: BoardAction): void => {
    void askFirst(questionAbout({ ...action, nodes: [{ node, request: action.request }] }), asking);
  };
  const press = ({ target }: PageEvent): void => {
    const { action: name = '', name: part, step, plan } = target?.closest('button')?.dataset ?? {};
    const node = openNode();
    if (!node) return;
    if (part === 'logs') void page.readLogs(node.uuid).catch(onRefusal);
    if (plan !== undefined) void page.readPlan(node, plan).catch(onRefusal);
    const action = actionsFor(subjectOf(node))[name];
    if (action) askAbout(node, action);
    const skipped = page.now.flow?.steps.find(({ uuid }) => uuid === step);
    if (skipped) askAbout(node, skipAction(`v1/nodes/${node.uuid}`, stepName(skipped), skipped.uuid));
  };
  for (const part of ['node-head', 'about']) element(part).addEventListener('click', press);

  const openOne = async (kind: ConsoleKind): Promise<void> => {
    element('refusal').textContent = '';
    const node = openNode();
    if (!node) return;
    const question = kind === 'serial' ? await askToEnable(node) : undefined;
    await (question ? askFirst(question, asking) : openConsole(node, kind));
  };
  for (const kind of ['shell', 'serial'] as const)
    element(`console-${kind}`).addEventListener('click', () => void openOne(kind).catch(onRefusal));
  element('console-close').addEventListener('click', () => {
    closeConsole();
    element('console-shell').focus();
  });

  return ({ name, tab }) => {
    const node = openNode();
    element('consoles').hidden = tab !== 'console' || !node || !may().openConsoles;
    if (!node) {
      paint('node-head', html`<p class="crumbs"><a href="#">All nodes</a></p><h2>${name}</h2>`);
      paint('node-tabs', nothing);
      const words = fleet.isKnown
        ? html`<div class="empty"><p>There is no such node, or it is not yours.</p><p><a href="#${encodeURIComponent(name)}">Look for ${name} in the fleet</a></p></div>`
        : html`<p class="loading">Reading the fleet…</p>`;
      paint('about', words);
      return;
    }
    const { change: mayChange, openConsoles } = may();
    const row = rowOf(node);
    const subject = subjectOf(node);
    paint('node-head', renderNodeHead(row, subject, mayChange));
    paint('node-tabs', renderTabs(node, tab));
    const isBarred = tab === 'console' && !openConsoles;
    const picture = { node, row, subject, ...page.now, mayChange };
    paint(
      'about',
      isBarred ? html`<p class="empty">Consoles are for administrators.</p>` : renderTab(tab, picture, new Date()),
    );
  };
}
