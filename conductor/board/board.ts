import { get, LoginNeeded, NoAnswer, send } from '#conductor/board/data/ask-api.ts';
import { prepareDialog, reasonOf } from '#conductor/board/page/ask-first.ts';
import { listenForCopies } from '#conductor/board/page/copy-text.ts';
import { createFleetTable } from '#conductor/board/page/fleet-table.ts';
import { countWork, type Fleet, followFleet, uuidByName } from '#conductor/board/page/follow-fleet.ts';
import { prepareGoTo } from '#conductor/board/page/go-to.ts';
import { listenForKeys, moveAmongLines } from '#conductor/board/page/keys.ts';
import { onLogin } from '#conductor/board/page/login-form.ts';
import { closeConsole } from '#conductor/board/page/open-console.ts';
import { browser, document, element, type PageEvent } from '#conductor/board/page/page.ts';
import { markView, showLive, showMarked, showOffline } from '#conductor/board/page/show-header.ts';
import { type OpenView, openView, type Viewer } from '#conductor/board/page/show-view.ts';
import { forgetSize } from '#conductor/board/page/show-window.ts';
import { arrangeTroubles } from '#conductor/board/render/arrange-troubles.ts';
import { findPlaces, type Place } from '#conductor/board/render/fleet/find-places.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { createNodePage } from '#conductor/board/views/node-page.ts';
import { createNodeParts } from '#conductor/board/views/node-parts.ts';
import { namedFilter, namedNode, namedView, nameFilter, views } from '#conductor/board/views/read-address.ts';

/** The page's script: follows the fleet as its caller, and shows it, one of its nodes, or one of the views beside it. */

const paintMs = 100;
/** Times on the page grow. */
const tickMs = 1000;

interface Session {
  readonly user: string | null;
  readonly role: string;
  readonly project: string | null;
}

const fleet: Fleet = { nodes: new Map(), flows: new Map(), isKnown: false, heardAt: undefined };
const state = {
  end: undefined as (() => void) | undefined,
  isPainting: false,
  paintedAt: 0,
  isOffline: false,
  /** Number of causes that need somebody. */
  troubles: 0,
  session: undefined as Session | undefined,
  mayChange: false,
  view: undefined as OpenView | undefined,
  /** Node whose data were read last. */
  readNode: undefined as string | undefined,
};

function openNode(): BoardNode | undefined {
  const named = namedNode();
  if (!named) return undefined;
  return fleet.nodes.get(named.name) ?? fleet.nodes.get(uuidByName(fleet, named.name) ?? '');
}

const nodePage = createNodePage({
  isOpen: (uuid) => openNode()?.uuid === uuid,
  mayReadReceipts: () => state.session?.project === null,
  onChange: () => showSoon(),
  onTrouble: (error) => report(error),
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
const table = createFleetTable({
  fleet,
  mayChange: () => state.mayChange,
  isOffline: () => state.isOffline,
  asking,
});
const showNode = createNodeParts({
  fleet,
  page: nodePage,
  openNode,
  may: () => ({ change: state.mayChange, openConsoles: state.session?.role === 'admin' }),
  asking,
  onRefusal: refuse,
});

/** After the address has changed, or somebody has logged in. */
function route(): void {
  closeConsole();
  state.view?.close();
  state.view = undefined;
  const named = namedView();
  markView(['fleet', ...Object.keys(views)], named?.name ?? 'fleet');
  const { session } = state;
  if (!named || !session) return;
  const viewer: Viewer = {
    ...session,
    fleet,
    uuidOf: (name) => uuidByName(fleet, name),
    nameOf: (uuid) => fleet.nodes.get(uuid)?.name ?? uuid,
    countWork: () => countWork(fleet),
  };
  const onTrouble = (error: unknown): void => {
    if (error instanceof LoginNeeded || error instanceof NoAnswer) report(error);
  };
  state.view = openView(named.view, named.rest, { viewer, onTrouble });
}

function show(): void {
  state.isPainting = false;
  state.paintedAt = Date.now();
  const named = namedNode();
  const { view } = state;
  element('view').hidden = !view;
  element('board').hidden = view !== undefined || named !== undefined;
  element('node').hidden = view !== undefined || named === undefined;
  const title = named ? named.name : view && namedView()?.view.title;
  const troubles = arrangeTroubles(fleet.flows.values(), fleet.nodes).length;
  const count = troubles === 0 ? '' : `(${troubles}) `;
  document.title = `${count}${title === undefined ? '' : `${title} · `}Baton`;
  // advice is read of new ones
  if (troubles !== state.troubles) view?.nudge();
  state.troubles = troubles;
  element('nav-attention').textContent = troubles === 0 ? 'Attention' : `Attention ${troubles}`;
  readOpened();
  if (view) view.paint();
  else if (named) showNode(named);
  else table.show();
}

/** Reads the node whose page is open, once the fleet knows it, and forgets one whose page was left. */
function readOpened(): void {
  const uuid = openNode()?.uuid;
  if (uuid === state.readNode) return;
  nodePage.forget();
  state.readNode = uuid;
  if (uuid !== undefined) void nodePage.read(uuid).catch(report);
}

/** Shows changes as often as eyes can follow, however many events come. */
function showSoon(): void {
  if (state.isPainting) return;
  state.isPainting = true;
  setTimeout(show, Math.max(0, state.paintedAt + paintMs - Date.now()));
}

/** @param nodeUuid of what has changed; absent = all of it */
function change(nodeUuid?: string): void {
  showSoon();
  const uuid = openNode()?.uuid;
  if (uuid === undefined || (nodeUuid !== undefined && nodeUuid !== uuid)) return;
  for (const flow of fleet.flows.values()) if (flow.node_uuid === uuid) nodePage.noteProgress(flow.progress);
  if (uuid === state.readNode) void nodePage.read(uuid).catch(report);
}

function noteOffline(error: unknown): void {
  state.isOffline = true;
  showOffline(fleet, error);
  showSoon();
}

function noteHeard(): void {
  showLive();
  if (!state.isOffline) return;
  state.isOffline = false;
  document.body.className = '';
  state.view?.nudge();
}

function report(error: unknown): void {
  if (error instanceof LoginNeeded) askForLogin(error.message);
  else if (error instanceof NoAnswer) noteOffline(error);
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
  document.body.className = '';
  // what one caller may see the next one may not
  Object.assign(fleet, { nodes: new Map(), flows: new Map(), isKnown: false, heardAt: undefined });
  element('login').hidden = false;
  for (const part of ['board', 'node', 'view', 'views', 'tools-of-all']) element(part).hidden = true;
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
    for (const part of ['tools-of-all', 'views']) element(part).hidden = false;
    // without a login nobody has a name, and there is nothing to log out of
    element('logout').hidden = session.user === null;
    element('anyone').hidden = session.user !== null;
    const isEverywhere = session.project === null;
    for (const name of ['site', 'images', 'conductors']) element(`nav-${name}`).hidden = !isEverywhere;
    element('nav-settings').hidden = !isEverywhere || session.role !== 'admin';
    element('message').textContent = '';
    state.end?.();
    route();
    show();
    state.end = followFleet(fleet, {
      onAction: () => state.view?.nudge(),
      onChange: change,
      onLogin: () => askForLogin('this token or password is not known, or has ended'),
      onTrouble: noteOffline,
      onHeard: noteHeard,
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
  readFilter();
  // the page is the same, and would stay where the view before was scrolled to
  browser.scrollTo(0, 0);
  element('refusal').textContent = '';
  route();
  show();
});
browser.addEventListener('scroll', () => table.scroll());
browser.addEventListener('resize', () => {
  forgetSize();
  showMarked();
  table.scroll();
});

/** Views that the caller has, as places to go to. */
function viewPlaces(): readonly Place[] {
  const others = Object.entries(views).filter(([name]) => !element(`nav-${name}`).hidden);
  return [
    { words: 'Fleet', about: 'view', href: '#fleet' },
    ...others.map(([name, { title }]) => ({ words: title, about: 'view', href: `#${name}/` })),
  ];
}
const goTo = prepareGoTo((text) => findPlaces(text, { nodes: fleet.nodes.values(), views: viewPlaces() }));
const showKeys = () => element('keys').showModal();
listenForKeys(
  {
    move: (by) => (element('board').hidden ? moveAmongLines(by) : table.move(by)),
    choose: (isRange) => table.chooseFocused(isRange),
    chooseNone: () => table.chooseNone(),
    goTo,
    filter: () => {
      if (element('board').hidden) return false;
      element('filter').focus();
      return true;
    },
    help: showKeys,
  },
  () => !element('login').hidden,
);
element('open-go-to').addEventListener('click', goTo);
element('open-keys').addEventListener('click', showKeys);
element('keys-close').addEventListener('click', () => element('keys').close());
listenForCopies();
// a menu closes when something else is pressed
document.addEventListener('click', ({ target }: PageEvent) => {
  for (const menu of document.body.querySelectorAll('details.menu[open]'))
    if (target?.closest('details.menu') !== menu || target.closest('button[data-action]')) menu.removeAttribute('open');
});
element('view').addEventListener('click', ({ target }: PageEvent) => {
  state.view?.press(target?.closest('button')?.dataset['name'] ?? '', asking);
});
prepareDialog();
setInterval(() => {
  if (document.hidden || !element('login').hidden) return;
  if (element('board').hidden) showSoon();
  else table.showRows();
}, tickMs);
void begin();
