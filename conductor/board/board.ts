import { get, LoginNeeded, send } from '#conductor/board/data/ask-api.ts';
import { choicesOf, questionAbout } from '#conductor/board/page/ask-about-nodes.ts';
import { askFirst, askWhich, prepareDialog, reasonOf } from '#conductor/board/page/ask-first.ts';
import { countWork, type Fleet, followFleet, uuidByName } from '#conductor/board/page/follow-fleet.ts';
import { onLogin } from '#conductor/board/page/login-form.ts';
import { askToEnable, type ConsoleKind, closeConsole, openConsole } from '#conductor/board/page/open-console.ts';
import { browser, document, element, type PageEvent, paint } from '#conductor/board/page/page.ts';
import { type OpenView, openView, type Viewer } from '#conductor/board/page/show-view.ts';
import { showWindow } from '#conductor/board/page/show-window.ts';
import { arrangeTroubles } from '#conductor/board/render/arrange-troubles.ts';
import {
  actionsFor,
  actionsForRows,
  type BoardAction,
  type Subject,
  skipAction,
} from '#conductor/board/render/board-actions.ts';
import {
  arrangeRows,
  type BoardNode,
  type BoardRow,
  countFleet,
  renderCounts,
} from '#conductor/board/render/render-board.ts';
import { renderButtons, renderNode } from '#conductor/board/render/render-node.ts';
import { createNodePage } from '#conductor/board/views/node-page.ts';
import { namedFilter, namedView, nameFilter, openNode, views } from '#conductor/board/views/read-address.ts';
import { stepName } from '#conductor/model/planned-step.ts';

/** The page's script: follows the fleet as its caller, and shows it, one of its nodes, or one of the views beside it. */

const paintMs = 100;
/** Times on the page grow. */
const tickMs = 1000;

interface Session {
  readonly user: string | null;
  readonly role: string;
  readonly project: string | null;
}

const fleet: Fleet = { nodes: new Map(), flows: new Map() };
const state = {
  end: undefined as (() => void) | undefined,
  isPainting: false,
  paintedAt: 0,
  rows: [] as readonly BoardRow[],
  session: undefined as Session | undefined,
  mayChange: false,
  view: undefined as OpenView | undefined,
};

const nodePage = createNodePage({
  isOpen: (uuid) => openNode() === uuid,
  mayReadReceipts: () => state.session?.project === null,
  onChange: () => showSoon(),
  onTrouble: (error) => report(error),
});

/** After the address has changed, or somebody has logged in. */
function route(): void {
  closeConsole();
  state.view?.close();
  state.view = undefined;
  const named = namedView();
  for (const name of ['fleet', ...Object.keys(views)])
    element(`nav-${name}`).setAttribute('aria-current', name === (named?.name ?? 'fleet') ? 'page' : 'false');
  const { session } = state;
  if (!named || !session) return;
  const viewer: Viewer = {
    ...session,
    fleet,
    uuidOf: (name) => uuidByName(fleet, name),
    nameOf: (uuid) => fleet.nodes.get(uuid)?.name ?? uuid,
    countWork: () => countWork(fleet),
  };
  const onRead = (): void => {
    element('message').textContent = '';
  };
  state.view = openView(named.view, named.rest, { viewer, onTrouble: report, onRead });
}

function show(): void {
  state.isPainting = false;
  state.paintedAt = Date.now();
  const uuid = openNode();
  const node = uuid === undefined ? undefined : fleet.nodes.get(uuid);
  const { view } = state;
  element('view').hidden = !view;
  element('board').hidden = view !== undefined || uuid !== undefined;
  element('node').hidden = view !== undefined || uuid === undefined;
  const title = node ? (node.name ?? node.uuid) : view && namedView()?.view.title;
  const troubles = arrangeTroubles(fleet.flows.values(), fleet.nodes).length;
  const count = troubles === 0 ? '' : `(${troubles}) `;
  document.title = `${count}${title === undefined ? '' : `${title} · `}Baton`;
  element('nav-attention').textContent = troubles === 0 ? 'Attention' : `Attention ${troubles}`;
  if (view) {
    view.paint();
    return;
  }
  const [nodes, flows] = [[...fleet.nodes.values()], [...fleet.flows.values()]];
  paint('counts', renderCounts(countFleet(nodes)));
  if (uuid === undefined) {
    state.rows = arrangeRows({ flows, nodes, filter: element('filter').value });
    showWindow(state.rows);
    element('bulk').hidden = !state.mayChange || state.rows.length === 0;
  } else if (node) {
    const { mayChange } = state;
    paint('actions', renderButtons(subjectOf(node), mayChange));
    element('consoles').hidden = state.session?.role !== 'admin';
    paint('about', renderNode({ node, ...nodePage.now, mayChange }, new Date()));
  } else paint('about', '<p>there is no such node, or it is not yours</p>');
}

/** With the flow as the fleet has it, while it is under way: that says what it waits for. */
function subjectOf(node: BoardNode): Subject {
  const { flow } = nodePage.now;
  const open = [...fleet.flows.values()].find((each) => each.node_uuid === node.uuid && each.ended_at === null);
  return { node, flow: open?.uuid === flow?.uuid ? open : flow, onHold: flow?.on_hold ?? null };
}

/** Shows changes as often as eyes can follow, however many events come. */
function showSoon(): void {
  if (state.isPainting) return;
  state.isPainting = true;
  setTimeout(show, Math.max(0, state.paintedAt + paintMs - Date.now()));
}

function change(nodeUuid?: string): void {
  const uuid = openNode();
  showSoon();
  if (uuid !== undefined && (nodeUuid === undefined || nodeUuid === uuid)) void nodePage.read(uuid).catch(report);
}

function report(error: unknown): void {
  if (error instanceof LoginNeeded) askForLogin(error.message);
  else element('message').textContent = reasonOf(error);
}

/** Stays until the next request: events don't clear it. */
function refuse(error: unknown): void {
  if (error instanceof LoginNeeded) askForLogin(error.message);
  else element('refusal').textContent = reasonOf(error);
}

function askForLogin(reason: string): void {
  state.end?.();
  closeConsole();
  state.view?.close();
  state.view = undefined;
  element('login').hidden = false;
  for (const part of ['board', 'node', 'view', 'views', 'logout']) element(part).hidden = true;
  element('token').focus();
  element('message').textContent = reason;
}

/** @param authorization what a login begins with; else the session there is */
async function begin(authorization?: string): Promise<void> {
  try {
    if (authorization !== undefined) await send({ method: 'POST', path: 'v1/session' }, authorization);
    const session = await get<Session>('v1/session');
    state.session = session;
    state.mayChange = session.role !== 'reader';
    element('login').hidden = true;
    for (const part of ['logout', 'views']) element(part).hidden = false;
    const isEverywhere = session.project === null;
    for (const name of ['site', 'images', 'conductors']) element(`nav-${name}`).hidden = !isEverywhere;
    element('nav-settings').hidden = !isEverywhere || session.role !== 'admin';
    element('message').textContent = '';
    state.end?.();
    route();
    state.end = followFleet(fleet, {
      onAction: () => state.view?.nudge(),
      onChange: (nodeUuid) => {
        element('message').textContent = '';
        change(nodeUuid);
      },
      onLogin: () => askForLogin('this token or password is not known, or has ended'),
      onTrouble: (reason) => {
        element('message').textContent = `not up to date: ${reason}; asking again`;
      },
    });
  } catch (error) {
    if (error instanceof LoginNeeded) askForLogin(authorization === undefined ? '' : error.message);
    else {
      report(error);
      if (authorization === undefined) setTimeout(() => void begin(), 2 * tickMs);
    }
  }
}

onLogin((authorization) => void begin(authorization));
element('logout').addEventListener('click', () => {
  send({ method: 'DELETE', path: 'v1/session' }).then(() => askForLogin(''), report);
});
/** Reads the filter of a link; one to the whole fleet leaves what was typed. */
function readFilter(): void {
  const filter = namedFilter();
  if (filter !== undefined) element('filter').value = filter;
}
readFilter();
element('filter').addEventListener('input', () => {
  nameFilter(element('filter').value);
  show();
});
browser.addEventListener('hashchange', () => {
  nodePage.forget();
  readFilter();
  element('refusal').textContent = '';
  route();
  change();
});
for (const type of ['scroll', 'resize'] as const)
  browser.addEventListener(type, () => {
    if (!element('board').hidden) showWindow(state.rows);
  });
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || element('board').hidden || document.activeElement === element('filter')) return;
  event.preventDefault();
  element('filter').focus();
});

const asking = {
  user: () => state.session?.user ?? null,
  onDone: () => {
    element('refusal').textContent = '';
    state.view?.nudge();
    change();
  },
  onRefusal: refuse,
};
function askAbout(node: BoardNode, action: BoardAction): void {
  void askFirst(questionAbout({ ...action, nodes: [{ node, request: action.request }] }), asking);
}
element('actions').addEventListener('click', ({ target }: PageEvent) => {
  const name = target?.closest('button')?.dataset['action'] ?? '';
  const node = fleet.nodes.get(openNode() ?? '');
  if (!node) return;
  const action = actionsFor(subjectOf(node))[name];
  if (action) askAbout(node, action);
});
element('about').addEventListener('click', ({ target }: PageEvent) => {
  const { name, step } = target?.closest('button')?.dataset ?? {};
  const node = fleet.nodes.get(openNode() ?? '');
  if (!node) return;
  if (name === 'logs') void nodePage.readLogs(node.uuid).catch(refuse);
  const skipped = nodePage.now.flow?.steps.find(({ uuid }) => uuid === step);
  if (!skipped) return;
  const action = skipAction(`v1/nodes/${node.uuid}`, stepName(skipped), skipped.uuid);
  askAbout(node, action);
});
async function openOne(kind: ConsoleKind): Promise<void> {
  element('refusal').textContent = '';
  const node = fleet.nodes.get(openNode() ?? '');
  if (!node) return;
  const question = kind === 'serial' ? await askToEnable(node) : undefined;
  await (question ? askFirst(question, asking) : openConsole(node, kind));
}
for (const kind of ['shell', 'serial'] as const)
  element(`console-${kind}`).addEventListener('click', () => void openOne(kind).catch(refuse));
element('console-close').addEventListener('click', () => {
  closeConsole();
  element('console-shell').focus();
});
element('view').addEventListener('click', ({ target }: PageEvent) => {
  state.view?.press(target?.closest('button')?.dataset['name'] ?? '', asking);
});
element('bulk').addEventListener('click', () =>
  askWhich(
    {
      title: 'Act on the nodes shown',
      meaning: 'Of each, those that it can be done to.',
      choices: choicesOf(actionsForRows(state.rows)),
    },
    asking,
  ),
);
prepareDialog();
setInterval(() => {
  if (document.hidden || !element('login').hidden) return;
  if (element('board').hidden) showSoon();
  else showWindow(state.rows);
}, tickMs);
void begin();
