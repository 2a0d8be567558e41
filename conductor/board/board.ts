import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { FleetView } from '#conductor/api/node-parts.ts';
import { type BoardNode, renderCounts, renderRows } from '#conductor/board/render-board.ts';

/** The page's script: asks the API as its caller, and shows what `render-board.ts` makes of the answers. */

/** What is used of a browser; its own types would replace Node's in the whole program. */
interface Element {
  innerHTML: string;
  textContent: string;
  hidden: boolean;
  value: string;
  focus(): void;
  addEventListener(type: string, listener: (event: { readonly key?: string; preventDefault(): void }) => void): void;
}
declare const document: {
  readonly activeElement: Element | null;
  getElementById(id: string): Element | null;
  addEventListener: Element['addEventListener'];
};
declare const location: { hash: string };

const flowsMs = 2000;
/** Of the list of nodes, which is longer than what is under way. */
const nodesMs = 10_000;
const pageSize = 1000;
const fields = 'uuid,name,provision_state,power_state,maintenance,maintenance_reason,last_error';

const state = {
  fleet: undefined as FleetView | undefined,
  flows: [] as FlowSummaryView[],
  nodes: [] as BoardNode[],
  nodesAt: Number.NEGATIVE_INFINITY,
  isStranger: false,
};

function element(id: string): Element {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

class LoginNeeded extends Error {}

async function get<Answer>(path: string): Promise<Answer> {
  return (await (await send('GET', path)).json()) as Answer;
}

/** As the session that the browser keeps in a cookie, out of reach of scripts. */
async function send(method: string, path: string, authorization?: string): Promise<Response> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'x-openstack-ironic-api-version': '1.82',
    'x-baton-board': '1',
    ...(authorization === undefined ? {} : { authorization }),
  };
  const answer = await fetch(path, {
    method,
    headers,
    credentials: 'same-origin',
    signal: AbortSignal.timeout(20_000),
  });
  if (answer.status === 401) throw new LoginNeeded('the conductor asks who you are');
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
  return answer;
}

/** All pages. */
async function getAll<Item extends { readonly uuid: string }>(path: string, name: string): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const marker = items.at(-1)?.uuid;
    const query = `${path.includes('?') ? '&' : '?'}limit=${pageSize}${marker === undefined ? '' : `&marker=${marker}`}`;
    const page = (await get<Record<string, Item[]>>(`${path}${query}`))[name] ?? [];
    items.push(...page);
    if (page.length < pageSize) return items;
  }
}

async function refresh(): Promise<void> {
  [state.fleet, state.flows] = await Promise.all([
    get<FleetView>('v1/fleet'),
    getAll<FlowSummaryView>('v1/flows', 'flows'),
  ]);
  if (performance.now() - state.nodesAt < nodesMs) return;
  state.nodes = await getAll<BoardNode>(`v1/nodes?fields=${fields}`, 'nodes');
  state.nodesAt = performance.now();
}

function show(): void {
  const { fleet, flows, nodes } = state;
  if (fleet === undefined) return;
  element('counts').innerHTML = renderCounts(fleet);
  element('rows').innerHTML = renderRows({ fleet, flows, nodes, filter: element('filter').value }, new Date());
}

/** @param authorization what a login begins with; else the session there is */
async function beat(authorization?: string): Promise<void> {
  try {
    if (authorization !== undefined) await send('POST', 'v1/session', authorization);
    await refresh();
    state.isStranger = false;
    element('login').hidden = true;
    element('board').hidden = false;
    element('message').textContent = '';
    show();
  } catch (error) {
    if (error instanceof LoginNeeded) {
      const wasIn = authorization !== undefined || !element('board').hidden;
      state.isStranger = true;
      element('login').hidden = false;
      element('board').hidden = true;
      element('token').focus();
      element('message').textContent = wasIn ? 'this token or password is not known, or has ended' : '';
    } else {
      const reason = error instanceof Error ? error.message : String(error);
      element('message').textContent = `not up to date: ${reason}; asking again`;
    }
  }
}

async function run(): Promise<void> {
  for (;;) {
    // nobody to ask in the name of
    if (!state.isStranger) await beat();
    await new Promise((resolve) => setTimeout(resolve, flowsMs));
  }
}

element('login').addEventListener('submit', (event) => {
  event.preventDefault();
  const [user, token] = [element('user').value, element('token').value];
  const bytes = new TextEncoder().encode(`${user}:${token}`);
  const authorization = user === '' ? `Bearer ${token.trim()}` : `Basic ${btoa(String.fromCharCode(...bytes))}`;
  element('token').value = '';
  void beat(authorization);
});
element('logout').addEventListener('click', () => {
  void send('DELETE', 'v1/session').finally(() => {
    element('board').hidden = true;
    void beat();
  });
});
element('filter').value = decodeURIComponent(location.hash.slice(1));
element('filter').addEventListener('input', () => {
  location.hash = encodeURIComponent(element('filter').value);
  show();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || document.activeElement === element('filter') || !element('login').hidden) return;
  event.preventDefault();
  element('filter').focus();
});
void run();
