import type { Trouble, TroubleStatus } from '#conductor/board/render/arrange-troubles.ts';
import {
  type BoardNode,
  type BoardRow,
  escapeHtml,
  foreign,
  renderMaintenance,
  renderTime,
  statusShapes,
} from '#conductor/board/render/render-board.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

/** Beside nodes: an allocation, an action, a conductor. */
export interface OtherTrouble {
  readonly what: string;
  readonly name: string;
  readonly reason: string | null;
  /** Address of this page. */
  readonly href: string;
  readonly since: string | null;
}

export interface AttentionPicture {
  readonly troubles: readonly Trouble[];
  readonly others: readonly OtherTrouble[];
  /** Advice by the key of a trouble. */
  readonly advice: ReadonlyMap<string, string>;
  readonly nodes: readonly BoardNode[];
  /** Open flows that nothing is wrong with. */
  readonly working: number;
  readonly buttonsOf: (trouble: Trouble) => readonly { readonly name: string; readonly title: string }[];
}

const shapes: Readonly<Record<TroubleStatus, string>> = { ...statusShapes, error: '✖' };
const words: Partial<Record<TroubleStatus, string>> = { slow: 'waits for long' };

const namedNodes = 12;

/** Renders what needs somebody: nodes, one line a cause; other things; then who has taken a node. Pure. */
export function renderAttention(picture: AttentionPicture, now: Date): readonly string[] {
  const { troubles, others, nodes } = picture;
  const count = troubles.length + others.length;
  const list = troubles.map((trouble) => renderTrouble(trouble, picture, now));
  return [
    count === 0 ? renderPeace(picture) : '',
    '',
    list.length === 0 ? '' : `<ul class="troubles">${list.join('')}</ul>`,
    `${renderOthers(others, now)}${renderTaken(nodes)}`,
  ];
}

function renderPeace({ nodes, working }: AttentionPicture): string {
  const active = nodes.filter(({ provision_state: state }) => state === 'active').length;
  return `<p>Nothing needs you: ${nodes.length} nodes, ${active} active, ${working} at work.</p>`;
}

function renderTrouble(trouble: Trouble, { advice, buttonsOf }: AttentionPicture, now: Date): string {
  const { key, status, kind, step, reason, rows } = trouble;
  const what = step === null || step === kind ? kind : `${kind} ▸ ${step}`;
  const buttons = buttonsOf(trouble).map(
    ({ name, title }) =>
      `<button type="button" id="do-${escapeHtml(name)}" data-name="${escapeHtml(name)}">${foreign(title)}</button>`,
  );
  const todo = advice.get(key);
  return `<li class="${status}"><p><span class="status">${shapes[status]} ${words[status] ?? status}</span> ${renderWhom(rows)}
    <b>${foreign(what)}</b> ${renderTimes(rows[0], now)}</p>
    ${reason === '' ? '' : `<p>${foreign(reason)}${rows.length > 1 ? ' <small>(of the first; the others alike)</small>' : ''}</p>`}
    ${todo === undefined ? '' : `<p>→ ${foreign(todo)}</p>`}
    <p class="buttons">${buttons.join(' ')}</p></li>`;
}

function renderWhom(rows: readonly BoardRow[]): string {
  const links = rows.slice(0, namedNodes).map(({ flow, node }) => {
    const uuid = node?.uuid ?? flow?.node_uuid ?? '';
    return `<a href="#node/${escapeHtml(uuid)}">${foreign(node?.name ?? flow?.node_name ?? uuid)}</a>`;
  });
  const more = rows.length > namedNodes ? ` and ${rows.length - namedNodes} more` : '';
  if (rows.length === 1) return `${links.join('')}${renderRacks(rows)}`;
  return `<b>${rows.length} nodes</b>${renderRacks(rows)}: ${links.join(' ')}${more}`;
}

/** ` in rack r7`, where all are. */
function renderRacks(rows: readonly BoardRow[]): string {
  const racks = new Set(rows.map(({ node }) => node?.rack ?? null));
  const [only] = racks;
  return racks.size === 1 && typeof only === 'string' ? ` <small>in ${foreign(only)}</small>` : '';
}

function renderTimes(row: BoardRow | undefined, now: Date): string {
  const flow = row?.flow;
  if (!flow) return '';
  const until = (time: string): string => formatDuration(spanMs(now.toISOString(), time, now));
  const since = renderTime(
    flow.since,
    `since ${flow.since.slice(11, 16)} (${formatDuration(spanMs(flow.since, null, now))})`,
  );
  return [
    since,
    ...(flow.status === 'retrying' ? [`attempt ${flow.attempt}`] : []),
    ...(flow.next_attempt_at === null
      ? flow.status === 'retrying'
        ? ['trying now']
        : []
      : [renderTime(flow.next_attempt_at, `again in ${until(flow.next_attempt_at)}`)]),
    ...(flow.until === null ? [] : [renderTime(flow.until, `gives up in ${until(flow.until)}`)]),
  ].join(', ');
}

function renderOthers(others: readonly OtherTrouble[], now: Date): string {
  if (others.length === 0) return '';
  const rows = others.map(({ what, name, reason, href, since }) => {
    const age = since === null ? '' : renderTime(since, formatDuration(spanMs(since, null, now)));
    return `<tr><td>${escapeHtml(what)}<td><a href="${escapeHtml(href)}">${foreign(name)}</a><td>${age}<td>${foreign(reason ?? '')}</tr>`;
  });
  return `<h3>Beside nodes</h3><table><thead><tr><th>What<th>Which<th>Since<th>Why</tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function renderTaken(nodes: readonly BoardNode[]): string {
  const taken = nodes.filter(({ maintenance }) => maintenance);
  if (taken.length === 0) return '';
  const lines = taken
    .slice(0, mostTaken)
    .map(
      (node) =>
        `<li><a href="#node/${escapeHtml(node.uuid)}">${foreign(node.name ?? node.uuid)}</a>${renderMaintenance(node)}</li>`,
    );
  const more = taken.length > mostTaken ? `<li>and ${taken.length - mostTaken} more</li>` : '';
  return `<h3>In maintenance: ${taken.length}</h3><ul>${lines.join('')}${more}</ul>`;
}

const mostTaken = 100;
