import type { Trouble, TroubleStatus } from '#conductor/board/render/arrange-troubles.ts';
import { formatClock } from '#conductor/board/render/clock.ts';
import { naturalKey } from '#conductor/board/render/fleet-columns.ts';
import { foreign, type Html, html, joined, nothing, renderTime } from '#conductor/board/render/html.ts';
import { nodeStatuses } from '#conductor/board/render/node-status.ts';
import {
  type BoardNode,
  type BoardRow,
  nameOf,
  renderHealth,
  renderMaintenance,
  renderNodeLink,
  renderWaits,
  uuidOf,
} from '#conductor/board/render/render-board.ts';
import { renderWords } from '#conductor/board/render/render-words.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { compareTexts } from '#shared/compare-texts.ts';

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
  /** Whether the fleet has been read: before that, no trouble is no peace. */
  readonly isKnown: boolean;
  readonly nodes: readonly BoardNode[];
  /** Nodes whose last flow an operator has aborted. */
  readonly aborted: readonly BoardRow[];
  /** Open flows that nothing is wrong with. */
  readonly working: number;
  readonly buttonsOf: (trouble: Trouble) => readonly { readonly name: string; readonly title: string }[];
}

const { working: _, ...bad } = nodeStatuses;
const shapes: Readonly<Record<TroubleStatus, { readonly shape: string; readonly words: string }>> = {
  ...bad,
  error: { shape: '✖', words: 'error' },
  critical: { shape: '✖', words: 'critical health' },
  warning: { shape: '⚠', words: 'health warning' },
  distrusted: { shape: '≠', words: 'not trusted' },
  waiting: nodeStatuses.working,
  working: nodeStatuses.working,
};

const namedNodes = 12;
const mostTaken = 100;

/** Renders what needs somebody: nodes, one line a cause; other things; then who has taken a node. Pure. */
export function renderAttention(picture: AttentionPicture, now: Date): readonly Html[] {
  const { troubles, others, nodes, isKnown, aborted } = picture;
  if (!isKnown) return [html`<p class="loading">Reading the fleet…</p>`];
  const count = troubles.length + others.length;
  const lines = [
    ...others.map((other) => renderOther(other, now)),
    ...troubles.map((trouble) => renderTrouble(trouble, picture, now)),
  ];
  return [
    count === 0 ? renderPeace(picture) : nothing,
    nothing,
    lines.length === 0 ? nothing : html`<ul class="troubles">${lines}</ul>`,
    html`${renderAborted(aborted)}${renderTaken(nodes)}`,
  ];
}

function renderPeace({ nodes, working }: AttentionPicture): Html {
  const active = nodes.filter(({ provision_state: state }) => state === 'active').length;
  return html`<p class="empty">Nothing needs you: ${nodes.length} nodes, ${active} active, ${working} at work.</p>`;
}

function renderTrouble(trouble: Trouble, { advice, buttonsOf }: AttentionPicture, now: Date): Html {
  const { key, status, doing, reason, rows } = trouble;
  const buttons = buttonsOf(trouble).map(
    ({ name, title }) => html`<button type="button" id="do-${name}" data-name="${name}">${title}</button> `,
  );
  const todo = advice.get(key);
  const { shape, words } = shapes[status];
  return html`<li class="trouble ${status}"><span class="status ${status}">${shape} ${words}</span>
    <div class="trouble-text"><p class="trouble-head">${renderWhom(rows)} <span class="fact">${joined(doing.map(foreign), ', ')}</span> <span class="fact">${renderTimes(rows[0], now)}</span></p>
    ${reason !== '' && html`<p class="words">${renderWords(reason)}${rows.length > 1 && html` <small>of ${foreign(rows[0] ? nameOf(rows[0]) : '')}; the others alike</small>`}</p>`}
    ${todo !== undefined && html`<p class="advice">${renderWords(todo)}</p>`}</div>
    <p class="buttons">${buttons}</p></li>`;
}

function renderWhom(rows: readonly BoardRow[]): Html {
  const links = rows
    .slice(0, namedNodes)
    .toSorted((a, b) => compareTexts(naturalKey(nameOf(a)), naturalKey(nameOf(b))))
    .map((row, index) => renderNodeLink(uuidOf(row), nameOf(row), index === 0 ? html` data-row` : nothing));
  if (rows.length === 1) return html`<b>${links}</b>${renderRacks(rows)}`;
  const more = rows.length > namedNodes && ` and ${rows.length - namedNodes} more`;
  return html`<b>${rows.length} nodes</b>${renderRacks(rows)} <span class="whom">${joined(links, ' ')}${more}</span>`;
}

/** ` in rack r7`, where all are. */
function renderRacks(rows: readonly BoardRow[]): Html {
  const racks = new Set(rows.map(({ node }) => node?.rack ?? null));
  const [only] = racks;
  return racks.size === 1 && typeof only === 'string' ? html` <small>in ${foreign(only)}</small>` : nothing;
}

function renderTimes(row: BoardRow | undefined, now: Date): Html {
  const flow = row?.flow;
  if (!flow) return nothing;
  const began = formatClock(flow.since).slice(0, 5);
  const since = renderTime(flow.since, `since ${began} (${formatDuration(spanMs(flow.since, null, now))})`);
  return joined([since, ...renderWaits(flow, now)], ', ');
}

function renderOther({ what, name, reason, href, since }: OtherTrouble, now: Date): Html {
  const age = since !== null && renderTime(since, `since ${formatDuration(spanMs(since, null, now))}`);
  return html`<li class="trouble failed"><span class="status failed">${what}</span>
    <div class="trouble-text"><p class="trouble-head"><b><a data-row href="${href}">${foreign(name)}</a></b> <span class="fact">${age}</span></p>
    ${reason !== null && html`<p class="words">${renderWords(reason)}</p>`}</div><p></p></li>`;
}

/** An operator has broken it off: nobody has to be woken for that. */
function renderAborted(rows: readonly BoardRow[]): Html {
  if (rows.length === 0) return nothing;
  const links = rows.slice(0, mostTaken).map((row) => renderNodeLink(uuidOf(row), nameOf(row)));
  const more = rows.length > mostTaken && ` and ${rows.length - mostTaken} more`;
  return html`<h3>Aborted by an operator: ${rows.length}</h3><p class="whom">${joined(links, ' ')}${more}</p>`;
}

function renderTaken(nodes: readonly BoardNode[]): Html {
  // of restored ones a line above says what to do
  const taken = nodes.filter(({ maintenance, fault }) => maintenance && fault !== nodeFaults.restored);
  if (taken.length === 0) return nothing;
  const lines = taken
    .slice(0, mostTaken)
    .map(
      (node) => html`<li>${renderNodeLink(node.uuid, node.name)} ${renderMaintenance(node)} ${renderHealth(node)}</li>`,
    );
  const more = taken.length > mostTaken && html`<li>and ${taken.length - mostTaken} more</li>`;
  return html`<h3>In maintenance: ${taken.length}</h3><ul class="plain">${lines}${more}</ul>`;
}
