import type { FleetSort } from '#conductor/board/render/fleet/arrange-fleet.ts';
import {
  columnNames,
  type FleetColumn,
  type FleetColumnName,
  fleetColumns,
} from '#conductor/board/render/fleet-columns.ts';
import { type Html, html, joined } from '#conductor/board/render/html.ts';
import { statusOf } from '#conductor/board/render/node-status.ts';
import { type BoardNode, type BoardRow, nameOf, uuidOf } from '#conductor/board/render/render-board.ts';
import { renderCommand } from '#conductor/board/render/render-words.ts';

/** The way in which the fleet's table is shown. */
export interface FleetLook {
  readonly columns: readonly FleetColumnName[];
  readonly sort: FleetSort;
  /** UUIDs of the nodes that are chosen. */
  readonly chosen: ReadonlySet<string>;
  /** Whether nodes may be chosen at all. */
  readonly mayChange: boolean;
}

export interface FleetCounts {
  readonly nodes: number;
  readonly in_maintenance: number;
  /** Nodes of critical health by their BMCs. */
  readonly critical: number;
  readonly provision_states: Readonly<Record<string, number>>;
}

/** Pure. */
export function countFleet(nodes: Iterable<BoardNode>): FleetCounts {
  const states = new Map<string, number>();
  let [all, inMaintenance, critical] = [0, 0, 0];
  for (const { provision_state: state, maintenance, health } of nodes) {
    all += 1;
    if (maintenance) inMaintenance += 1;
    if (health === 'Critical') critical += 1;
    states.set(state, (states.get(state) ?? 0) + 1);
  }
  return {
    nodes: all,
    in_maintenance: inMaintenance,
    critical,
    provision_states: Object.fromEntries([...states].toSorted(([, a], [, b]) => b - a)),
  };
}

/** `12 nodes, 3 active, 9 available, 1 in maintenance`, each a link to those. Pure. */
export function renderCounts(counts: FleetCounts): Html {
  const { nodes, in_maintenance: inMaintenance, critical, provision_states: states } = counts;
  const link = (filter: string, count: number, words: string): Html =>
    html`<li><a href="#${encodeURIComponent(filter)}"><b>${count}</b> ${words}</a></li>`;
  const each = Object.entries(states).map(([state, count]) =>
    link(`state:${state.includes(' ') ? `"${state}"` : state}`, count, state),
  );
  return html`<li><a href="#fleet"><b>${nodes}</b> ${nodes === 1 ? 'node' : 'nodes'}</a></li>${each}
    ${inMaintenance > 0 && link('maintenance', inMaintenance, 'in maintenance')}${critical > 0 && link('health:critical', critical, 'of critical health')}`;
}

/** Headings that sort; the column by which rows are sorted says so. Pure. */
export function renderHead({ columns, sort, mayChange }: FleetLook): Html {
  const cells = columns.map((name) => {
    const { title }: FleetColumn = fleetColumns[name];
    const isSorted = sort.column === name;
    const sorted = isSorted && html` aria-sort="${sort.isDown ? 'descending' : 'ascending'}"`;
    const mark = isSorted && html`<span aria-hidden="true"> ${sort.isDown ? '▾' : '▴'}</span>`;
    return html`<th scope="col" class="c-${name}"${sorted}><button type="button" id="sort-${name}" data-sort="${name}">${title}${mark}</button></th>`;
  });
  return html`<tr>${mayChange && html`<td class="c-choose"></td>`}${cells}</tr>`;
}

/** Id of a node's row on the page. */
export const rowId = (row: BoardRow): string => `row-${uuidOf(row)}`;

/** Renders a row of the table, as one line. Pure. */
export function renderRow(row: BoardRow, { columns, chosen, mayChange }: FleetLook, now: Date): Html {
  const uuid = uuidOf(row);
  const isChosen = chosen.has(uuid);
  const cells = columns.map((name) => {
    const { render, wholeOf }: FleetColumn = fleetColumns[name];
    const whole = wholeOf?.(row) ?? '';
    return html`<td class="c-${name}"${whole !== '' && html` title="${whole}"`}>${render(row, now)}</td>`;
  });
  const choose =
    mayChange &&
    html`<td class="c-choose"><button type="button" class="check" role="checkbox" tabindex="-1" aria-checked="${isChosen ? 'true' : 'false'}" aria-label="Choose ${nameOf(row)}" data-choose="${uuid}"></button></td>`;
  return html`<tr id="${rowId(row)}" class="${statusOf(row)}${isChosen && ' chosen'}" data-uuid="${uuid}">${choose}${cells}</tr>`;
}

/** Renders the words that stand in place of rows. Pure. */
export function renderNoRows(facts: {
  readonly isKnown: boolean;
  readonly nodes: number;
  readonly filter: string;
  readonly isOffline: boolean;
}): Html {
  if (!facts.isKnown) {
    if (facts.isOffline) return html`<p>The conductor has not answered yet: what it has is not known.</p>`;
    const soFar = facts.nodes > 0 && html`<p>${facts.nodes} so far.</p>`;
    return html`<p class="loading">Reading the fleet…</p>${soFar}`;
  }
  if (facts.nodes > 0)
    return html`<p>No node matches <code>${facts.filter}</code>.</p><p><a href="#fleet">Show all ${facts.nodes}</a></p>`;
  return html`<p>No node is enrolled.</p>
    <p><code>baton node create name=n1 driver=redfish …</code> enrolls one, ${renderCommand('baton node create -f nodes.yaml')} a whole room.</p>`;
}

/** The choice of columns. Pure. */
export function renderColumnChoice({ columns }: FleetLook): Html {
  const all = columnNames.filter((name) => name !== 'node');
  const choices = all.map((name) => {
    const { title }: FleetColumn = fleetColumns[name];
    const isShown = columns.includes(name);
    return html`<button type="button" role="checkbox" class="check-row" id="column-${name}" data-column-choice="${name}" aria-checked="${isShown ? 'true' : 'false'}">${title}</button>`;
  });
  return html`${joined(choices, ' ')} <button type="button" id="columns-usual" data-column-choice="">As usual</button>`;
}
