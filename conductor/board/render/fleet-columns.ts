import { foreignCell, type Html, html, nothing, renderTime } from '#conductor/board/render/html.ts';
import { renderStatus, statusNames, statusOf } from '#conductor/board/render/node-status.ts';
import {
  type BoardRow,
  nameOf,
  renderHealth,
  renderMaintenance,
  renderNodeLink,
  renderProgress,
  renderWaits,
  uuidOf,
} from '#conductor/board/render/render-board.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

/** A column of the fleet's table. */
export interface FleetColumn {
  readonly title: string;
  /** Shown until somebody chooses. */
  readonly isUsual: boolean;
  /** Key by which rows are sorted; `~` stands behind all. */
  readonly keyOf: (row: BoardRow) => string;
  readonly render: (row: BoardRow, now: Date) => Html;
  /** The whole text, where the cell may cut it. */
  readonly wholeOf?: (row: BoardRow) => string | null | undefined;
}

/** Keys by their text: ten thousand names are sorted with each change that is painted. */
const keys = new Map<string, string>();
const mostKeys = 50_000;

/** The name's order for people: r2 before r10. */
export function naturalKey(text: string): string {
  const known = keys.get(text);
  if (known !== undefined) return known;
  const key = text.toLowerCase().replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, '').padStart(12, '0'));
  if (keys.size >= mostKeys) keys.clear();
  keys.set(text, key);
  return key;
}

const last = '~';
const word = (title: string, isUsual: boolean, valueOf: (row: BoardRow) => string | null | undefined): FleetColumn => ({
  title,
  isUsual,
  keyOf: (row) => naturalKey(valueOf(row) ?? '') || last,
  render: (row) => foreignCell(valueOf(row)),
  wholeOf: valueOf,
});

const stateOf = ({ flow, node }: BoardRow): string => flow?.provision_state ?? node?.provision_state ?? '';
const stepOf = ({ flow }: BoardRow): string | undefined => flow && (flow.step ?? flow.kind);
const reasonOf = ({ flow, node }: BoardRow): string | null =>
  flow ? flow.reason : node.maintenance ? null : node.last_error;
const healthOrder: readonly (string | null)[] = ['Critical', 'Warning', 'OK', null];
const powerWords: Readonly<Record<string, string>> = { 'power on': '● on', 'power off': '○ off' };

/** Columns of the fleet's table by name, in their order. */
export const fleetColumns = {
  node: {
    title: 'Node',
    isUsual: true,
    keyOf: (row) => naturalKey(nameOf(row)),
    render: (row) => renderNodeLink(uuidOf(row), nameOf(row), html` id="to-${uuidOf(row)}"`),
    wholeOf: nameOf,
  },
  status: {
    title: 'Status',
    isUsual: true,
    keyOf: (row) => String(statusNames.indexOf(statusOf(row))).padStart(2, '0') + (row.flow?.since ?? last),
    render: (row) => renderStatus(statusOf(row)),
  },
  state: word('State', true, stateOf),
  step: {
    title: 'Step',
    isUsual: true,
    keyOf: (row) => stepOf(row) ?? last,
    render: (row) => html`${renderProgress(row.flow?.progress)}${foreignCell(stepOf(row))}`,
    wholeOf: stepOf,
  },
  since: {
    title: 'Since',
    isUsual: true,
    keyOf: (row) => row.flow?.since ?? last,
    render: ({ flow }, now) => (flow ? renderTime(flow.since, formatDuration(spanMs(flow.since, null, now))) : nothing),
  },
  rack: word('Rack', true, ({ node }) => node?.rack),
  class: word('Class', true, ({ node }) => node?.resource_class),
  image: word('Image', true, ({ node }) => node?.image),
  owner: word('Owner', false, ({ node }) => node?.owner),
  power: {
    ...word('Power', true, ({ node }) => node?.power_state),
    render: ({ node }) => html`${powerWords[node?.power_state ?? ''] ?? node?.power_state}`,
  },
  health: {
    ...word('Health', false, ({ node }) => node?.health),
    // the worst first; OK stands before what is not known
    keyOf: ({ node }) => String(healthOrder.indexOf(node?.health ?? null)),
  },
  driver: word('Driver', false, ({ node }) => node?.driver),
  group: word('Group', false, ({ node }) => node?.conductor_group),
  why: {
    title: 'Why',
    isUsual: true,
    keyOf: (row) => reasonOf(row) ?? last,
    render: (row, now) => {
      const waits = row.flow ? renderWaits(row.flow, now) : [];
      return html`${row.node && renderMaintenance(row.node)} ${row.node && renderHealth(row.node)} ${waits.map((each) => html`<span class="wait">${each}</span> `)}${foreignCell(reasonOf(row))}`;
    },
    wholeOf: (row) =>
      [row.node?.maintenance === true ? row.node.maintenance_reason : null, reasonOf(row)]
        .filter((each) => each !== null)
        .join('; '),
  },
} satisfies Readonly<Record<string, FleetColumn>>;
export type FleetColumnName = keyof typeof fleetColumns;

export const columnNames = Object.keys(fleetColumns) as FleetColumnName[];
export const usualColumns: readonly FleetColumnName[] = columnNames.filter((name) => fleetColumns[name].isUsual);
