import type { FlowView } from '#conductor/api/flows.ts';
import { choicesOf, questionAbout } from '#conductor/board/ask-about-nodes.ts';
import { find, get, LoginNeeded, send } from '#conductor/board/ask-api.ts';
import { askFirst, askWhich, prepareDialog, reasonOf } from '#conductor/board/ask-first.ts';
import { actionsFor, actionsForRows } from '#conductor/board/board-actions.ts';
import { type Fleet, followFleet } from '#conductor/board/follow-fleet.ts';
import { allocationsView, conductorsView, settingsView } from '#conductor/board/list-views.ts';
import { askToEnable, type ConsoleKind, closeConsole, openConsole } from '#conductor/board/open-console.ts';
import { browser, document, element, location, type PageEvent, paint } from '#conductor/board/page.ts';
import { arrangeRows, type BoardRow, countFleet, renderCounts } from '#conductor/board/render-board.ts';
import type { Hardware, ShownInventory, ShownReceipt } from '#conductor/board/render-hardware.ts';
import { type HistoryLine, renderButtons, renderNode } from '#conductor/board/render-node.ts';
import { type OpenView, openView, type View, type Viewer } from '#conductor/board/show-view.ts';
import { showWindow } from '#conductor/board/show-window.ts';
import { siteView } from '#conductor/board/site-view.ts';

/** The page's script: follows the fleet as its caller, and shows it, one of its nodes, or one of the views beside it. */

const paintMs = 100;
/** Times on the page grow. */
const tickMs = 1000;
const shownHistory = 50;

/** `#site/`; of the fleet the address has the filter, in which a slash is escaped. */
const views: Readonly<Record<string, View>> = {
  site: siteView,
  allocations: allocationsView,
  conductors: conductorsView,
  settings: settingsView,
};

const noHardware: Hardware = { inventory: undefined, receipts: [] };

interface Session {
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
  /** Beside the fleet, of the node whose page is open. */
  flow: undefined as FlowView | undefined,
  history: [] as readonly HistoryLine[],
  hardware: noHardware,
};

function openNode(): string | undefined {
  return /^#node\/([0-9a-f-]{36})$/.exec(location.hash)?.[1];
}

/** The view that the address names, and what stands behind it. */
function namedView(): { readonly name: string; readonly view: View; readonly rest: string } | undefined {
  const [, name = '', rest = ''] = /^#(\w+)\/(.*)$/.exec(location.hash) ?? [];
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  return view && { name, view, rest };
}

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
    uuidOf: uuidByName,
    nameOf: (uuid) => fleet.nodes.get(uuid)?.name ?? uuid,
    countWork,
  };
  const onRead = (): void => {
    element('message').textContent = '';
  };
  state.view = openView(named.view, named.rest, { viewer, onTrouble: report, onRead });
}

function uuidByName(name: string): string | undefined {
  for (const node of fleet.nodes.values()) if (node.name === name) return node.uuid;
  return undefined;
}

function countWork(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { conductor, ended_at: end } of fleet.flows.values())
    if (conductor !== null && end === null) counts.set(conductor, (counts.get(conductor) ?? 0) + 1);
  return counts;
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
  document.title = title === undefined ? 'Baton' : `${title} · Baton`;
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
    paint('actions', renderButtons({ node, ...state }));
    element('consoles').hidden = state.session?.role !== 'admin';
    paint('about', renderNode({ node, ...state }, new Date()));
  } else paint('about', '<p>there is no such node, or it is not yours</p>');
}

/** As often as eyes can follow, however many events come. */
function showSoon(): void {
  if (state.isPainting) return;
  state.isPainting = true;
  setTimeout(show, Math.max(0, state.paintedAt + paintMs - Date.now()));
}

async function readNode(uuid: string): Promise<void> {
  const [flow, { history }] = await Promise.all([
    find<FlowView>(`v1/nodes/${uuid}/flow`),
    get<{ readonly history: readonly HistoryLine[] }>(`v1/nodes/${uuid}/history?detail=true`),
  ]);
  if (openNode() !== uuid) return;
  // hardware is seen, and wipes are proved, by flows
  if (flow?.state !== state.flow?.state || state.hardware === noHardware) void readHardware(uuid).catch(report);
  state.flow = flow;
  state.history = history.toReversed().slice(0, shownHistory);
  showSoon();
}

async function readHardware(uuid: string): Promise<void> {
  const mayReadReceipts = state.session?.project === null;
  const [found, wiped] = await Promise.all([
    find<{ readonly inventory: ShownInventory }>(`v1/nodes/${uuid}/inventory`),
    mayReadReceipts
      ? find<{ readonly receipts: readonly ShownReceipt[] }>(`api/v1.0/receipts?node=${uuid}&limit=20`)
      : undefined,
  ]);
  if (openNode() !== uuid) return;
  state.hardware = { inventory: found?.inventory, receipts: wiped?.receipts ?? [] };
  showSoon();
}

function change(nodeUuid?: string): void {
  const uuid = openNode();
  showSoon();
  if (uuid !== undefined && (nodeUuid === undefined || nodeUuid === uuid)) void readNode(uuid).catch(report);
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
    for (const name of ['site', 'conductors']) element(`nav-${name}`).hidden = !isEverywhere;
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

element('login').addEventListener('submit', (event) => {
  event.preventDefault();
  const [user, token] = [element('user').value, element('token').value];
  const bytes = new TextEncoder().encode(`${user}:${token}`);
  const authorization = user === '' ? `Bearer ${token.trim()}` : `Basic ${btoa(String.fromCharCode(...bytes))}`;
  element('token').value = '';
  void begin(authorization);
});
element('logout').addEventListener('click', () => {
  send({ method: 'DELETE', path: 'v1/session' }).then(() => askForLogin(''), report);
});
element('filter').value = openNode() === undefined && !namedView() ? decodeURIComponent(location.hash.slice(1)) : '';
element('filter').addEventListener('input', () => {
  location.hash = encodeURIComponent(element('filter').value);
  show();
});
browser.addEventListener('hashchange', () => {
  state.flow = undefined;
  state.history = [];
  state.hardware = noHardware;
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
  onDone: () => {
    element('refusal').textContent = '';
    state.view?.nudge();
    change();
  },
  onRefusal: refuse,
};
element('actions').addEventListener('click', ({ target }: PageEvent) => {
  const name = target?.closest('button')?.dataset['action'] ?? '';
  const node = fleet.nodes.get(openNode() ?? '');
  if (!node) return;
  const action = actionsFor({ node, flow: state.flow, onHold: state.flow?.on_hold ?? null })[name];
  if (action) void askFirst(questionAbout({ ...action, nodes: [{ node, request: action.request }] }), asking);
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
