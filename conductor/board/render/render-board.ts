import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { parseFilter } from '#conductor/board/render/filter-rows.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** Fields that the board needs of `GET /v1/nodes`. */
export interface BoardNode {
  readonly uuid: string;
  readonly name: string | null;
  readonly provision_state: string;
  readonly power_state: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly fault: string | null;
  readonly last_error: string | null;
  readonly resource_class: string | null;
  readonly driver: string;
  readonly conductor_group: string;
  readonly owner: string | null;
  readonly rack: string | null;
  readonly traits: readonly string[];
}

export interface FleetCounts {
  readonly nodes: number;
  readonly in_maintenance: number;
  readonly provision_states: Readonly<Record<string, number>>;
}

export interface BoardPicture {
  readonly flows: readonly FlowSummaryView[];
  readonly nodes: readonly BoardNode[];
  /** The filter as `parseFilter` reads it. */
  readonly filter: string;
}

/** A node at work with its flow, or one at rest. */
export type BoardRow =
  | { readonly flow: FlowSummaryView; readonly node: BoardNode | undefined }
  | { readonly flow: undefined; readonly node: BoardNode };

/** The worst first, each with a shape of its own: colour alone says nothing to some. */
export const statusShapes: Readonly<Record<FlowSummaryView['status'], string>> = {
  failed: '✖',
  retrying: '↻',
  slow: '◔',
  held: '‖',
  waiting: '…',
  working: '▶',
};
const statuses = Object.keys(statusShapes);
/** `&lt;` for `<`: names and reasons come from machines. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Untrusted text, isolated so that right-to-left characters do not reorder the page around it. */
export const foreign = (text: string): string => (text === '' ? '' : `<bdi>${escapeHtml(text)}</bdi>`);

/** The exact time is shown when the pointer rests on it. */
export const renderTime = (iso: string, words: string): string =>
  `<time datetime="${escapeHtml(iso)}" title="${escapeHtml(iso)}">${escapeHtml(words)}</time>`;

/** Pure. */
export function countFleet(nodes: readonly BoardNode[]): FleetCounts {
  const states = Object.groupBy(nodes, (node) => node.provision_state);
  const counts = Object.entries(states).map(([state, all]) => [state, all?.length ?? 0] as const);
  return {
    nodes: nodes.length,
    in_maintenance: nodes.filter(({ maintenance }) => maintenance).length,
    provision_states: Object.fromEntries(counts.toSorted(([, a], [, b]) => b - a)),
  };
}

/** `12 nodes: 3 active, 9 available; 1 in maintenance`, as HTML. Pure. */
export function renderCounts({ nodes, in_maintenance: inMaintenance, provision_states: states }: FleetCounts): string {
  const counts = Object.entries(states).map(([state, count]) => `<li><b>${count}</b> ${escapeHtml(state)}</li>`);
  const maintenance = inMaintenance > 0 ? `<li><b>${inMaintenance}</b> in maintenance</li>` : '';
  return `<li><b>${nodes}</b> ${nodes === 1 ? 'node' : 'nodes'}</li>${counts.join('')}${maintenance}`;
}

/** Arranges the nodes by what they do, the worst first, those at rest last; only what the filter leaves. Pure. */
export function arrangeRows({ flows, nodes, filter }: BoardPicture): readonly BoardRow[] {
  const byUuid = new Map(nodes.map((node) => [node.uuid, node]));
  const busy = new Set(flows.map((flow) => flow.node_uuid));
  const isWanted = parseFilter(filter);
  return [
    ...flows
      .toSorted((a, b) => rank(a) - rank(b) || Number(a.since > b.since) - Number(a.since < b.since))
      .map((flow) => ({ flow, node: byUuid.get(flow.node_uuid) })),
    ...nodes.filter(({ uuid }) => !busy.has(uuid)).map((node) => ({ flow: undefined, node })),
  ].filter(isWanted);
}

/** Rows of the table, each with why it waits. Pure. */
export function renderRows(rows: readonly BoardRow[], now: Date): string {
  const html = rows.map(({ flow, node }) => (flow ? renderFlow(flow, node, now) : renderIdle(node)));
  return html.join('') || '<tr><td colspan="6">no node</td></tr>';
}

const nodeLink = (uuid: string, name: string): string =>
  `<a id="to-${escapeHtml(uuid)}" href="#node/${escapeHtml(uuid)}">${foreign(name)}</a>`;

const renderRack = ({ rack }: BoardNode): string => (rack === null ? '' : ` <small>${foreign(rack)}</small>`);

const rank = ({ status }: FlowSummaryView): number => statuses.indexOf(status);

function renderFlow(flow: FlowSummaryView, node: BoardNode | undefined, now: Date): string {
  const name = flow.node_name ?? flow.node_uuid;
  const took = formatDuration(spanMs(flow.since, null, now));
  const until = (time: string) => formatDuration(spanMs(now.toISOString(), time, now));
  const times = [
    flow.status === 'failed' ? `${took} ago` : took,
    ...(flow.status === 'retrying' ? [`attempt ${flow.attempt}`] : []),
    ...(flow.next_attempt_at === null ? [] : [`again in ${until(flow.next_attempt_at)}`]),
    ...(flow.until === null ? [] : [`gives up in ${until(flow.until)}`]),
  ];
  return row(flow.status, [
    `<span class="status">${statusShapes[flow.status]} ${flow.status}</span>`,
    `${nodeLink(flow.node_uuid, name)}${node ? renderRack(node) : ''}`,
    `${escapeHtml(flow.provision_state)}${node ? renderMaintenance(node) : ''}`,
    foreign(flow.step ?? flow.kind),
    renderTime(flow.since, times.join(', ')),
    `${renderProgress(flow.progress)}${flow.reason === null ? '' : foreign(flow.reason)}`,
  ]);
}

function renderIdle(node: BoardNode): string {
  return row('idle', [
    node.power_state === null ? '' : `○ ${escapeHtml(node.power_state)}`,
    `${nodeLink(node.uuid, node.name ?? node.uuid)}${renderRack(node)}`,
    `${escapeHtml(node.provision_state)}${renderMaintenance(node)}`,
    '',
    '',
    node.last_error === null ? '' : foreign(node.last_error),
  ]);
}

const row = (status: string, cells: readonly string[]): string =>
  `<tr class="${status}">${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

export function renderMaintenance({
  maintenance,
  maintenance_reason: reason,
}: Pick<BoardNode, 'maintenance' | 'maintenance_reason'>): string {
  if (!maintenance) return '';
  return ` <span class="maintenance">⚑ maintenance${reason === null ? '' : `: ${foreign(reason)}`}</span>`;
}

export function renderProgress(progress: unknown): string {
  if (typeof progress !== 'object' || progress === null) return '';
  const { phase, done_bytes: done, total_bytes: total, rate } = progress as Partial<Progress>;
  const amount =
    done === undefined || total === undefined || total === 0
      ? ''
      : `<progress value="${done}" max="${total}"></progress> ${Math.floor((100 * done) / total)} %, `;
  const speed = rate === undefined ? '' : `, ${formatBytes(rate)}/s`;
  return `<span class="progress">${amount}${foreign(phase ?? '')}${speed}</span> `;
}
