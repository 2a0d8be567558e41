import { choicesOf } from '#conductor/board/page/ask-about-nodes.ts';
import { type AskOptions, askWhich } from '#conductor/board/page/ask-first.ts';
import { type ChosenRows, createChosenRows, meantRows } from '#conductor/board/page/choose-rows.ts';
import type { Fleet } from '#conductor/board/page/follow-fleet.ts';
import { type Look, readLook, writeLook } from '#conductor/board/page/keep-look.ts';
import { document, element, paint } from '#conductor/board/page/page.ts';
import { scrollToRow, showWindow, windowOf } from '#conductor/board/page/show-window.ts';
import { actionsForRows } from '#conductor/board/render/board-actions.ts';
import { arrangeFleet } from '#conductor/board/render/fleet/arrange-fleet.ts';
import {
  countFleet,
  renderColumnChoice,
  renderCounts,
  renderHead,
  renderNoRows,
  renderRow,
  rowId,
} from '#conductor/board/render/fleet/render-fleet.ts';
import { columnNames, type FleetColumnName, usualColumns } from '#conductor/board/render/fleet-columns.ts';
import { html, nothing } from '#conductor/board/render/html.ts';
import { type BoardRow, uuidOf } from '#conductor/board/render/render-board.ts';

/** The fleet's table: which rows it has, in which order, and which of them are chosen. */
export interface FleetTable {
  /** Shows the fleet as it is now. */
  show(): void;
  /** Shows the rows in view again: times grow. */
  showRows(): void;
  /** Lays out the rows that have come into view. */
  scroll(): void;
  /** Moves the keyboard's focus by so many rows. */
  move(by: number): void;
  /** Chooses the row that has the focus, or no longer. @param isRange with all rows since the last one */
  chooseFocused(isRange: boolean): void;
  chooseNone(): void;
}

export interface FleetTableOptions {
  readonly fleet: Fleet;
  readonly mayChange: () => boolean;
  readonly isOffline: () => boolean;
  readonly asking: AskOptions;
}

interface TableState extends Look {
  rows: readonly BoardRow[];
  readonly chosen: ChosenRows;
  /** The rows that are laid out. */
  window: ReturnType<typeof windowOf>;
}

export function createFleetTable(options: FleetTableOptions): FleetTable {
  const { mayChange } = options;
  const state: TableState = { ...readLook(), rows: [], chosen: createChosenRows(), window: { first: 0, end: 0 } };
  const showRows = (): void => showRowsOf(state, options);
  const showChosen = (): void => {
    showChosenOf(state, options);
    showRows();
  };
  const show = (): void => showAll(state, options);
  const choose = (uuid: string, isRange: boolean): void => {
    if (!mayChange()) return;
    state.chosen.toggle(uuid, state.rows, isRange);
    showChosen();
  };
  const chooseNone = (): void => {
    state.chosen.clear();
    showChosen();
  };
  const change = (look: Partial<Look>): void => {
    Object.assign(state, look);
    writeLook(state);
    show();
  };
  element('fleet-table').addEventListener('click', ({ target, shiftKey = false }) => {
    const { sort, choose: uuid } = target?.closest('button')?.dataset ?? {};
    const column = columnNames.find((each) => each === sort);
    if (column) return change({ sort: { column, isDown: state.sort.column === column && !state.sort.isDown } });
    const row = uuid ?? (target?.closest('a') ? undefined : target?.closest('tr')?.dataset['uuid']);
    if (row !== undefined) choose(row, shiftKey);
  });
  element('column-choice').addEventListener('click', ({ target }) => {
    const name = target?.closest('button')?.dataset['columnChoice'];
    if (name !== undefined) change({ columns: columnsWith(state.columns, name) });
  });
  element('chosen').addEventListener('click', chooseNone);
  element('bulk').addEventListener('click', () => askAboutRows(state, options.asking));
  return {
    show,
    showRows,
    scroll: () => {
      if (element('board').hidden) return;
      const { first, end } = windowOf(state.rows.length);
      if (first !== state.window.first || end !== state.window.end) showRows();
    },
    chooseNone,
    move: (by) => {
      const now = focusedIn(state.rows);
      const next = now === -1 ? 0 : Math.min(state.rows.length - 1, Math.max(0, now + by));
      const row = state.rows[next];
      if (!row) return;
      scrollToRow(next);
      showRows();
      document.getElementById(`to-${uuidOf(row)}`)?.focus({ preventScroll: true });
    },
    chooseFocused: (isRange) => {
      const row = state.rows[focusedIn(state.rows)];
      if (row) choose(uuidOf(row), isRange);
    },
  };
}

const lookOf = (state: TableState, { mayChange }: FleetTableOptions) => ({
  ...state,
  chosen: state.chosen.uuids,
  mayChange: mayChange(),
});

function showRowsOf(state: TableState, options: FleetTableOptions): void {
  const look = lookOf(state, options);
  const now = new Date();
  state.window = windowOf(state.rows.length);
  const { first, end } = state.window;
  const items = state.rows.slice(first, end).map((row) => ({ id: rowId(row), html: () => renderRow(row, look, now) }));
  showWindow(state.rows.length, state.window, items);
}

function showChosenOf(state: TableState, { mayChange }: FleetTableOptions): void {
  const isChosen = state.chosen.uuids.size > 0;
  const { label, rows } = meantRows(state.chosen, state.rows);
  element('bulk').hidden = !mayChange() || (!isChosen && rows.length === 0);
  element('bulk').disabled = rows.length === 0;
  element('bulk').textContent = label;
  element('bulk').className = isChosen ? 'primary' : '';
  paint('chosen', !isChosen ? nothing : html`<button type="button" id="choose-none">Choose none</button>`);
}

function showAll(state: TableState, options: FleetTableOptions): void {
  const { nodes, flows, isKnown } = options.fleet;
  const filter = element('filter').value;
  state.rows = arrangeFleet({ flows: flows.values(), nodes, filter, sort: state.sort }, state.rows);
  const look = lookOf(state, options);
  paint('counts', isKnown || nodes.size > 0 ? renderCounts(countFleet(nodes.values())) : nothing);
  paint('fleet-head', renderHead(look));
  paint('column-choice', renderColumnChoice(look));
  const facts = { isKnown, nodes: nodes.size, filter, isOffline: options.isOffline() };
  paint('no-rows', state.rows.length === 0 ? renderNoRows(facts) : nothing);
  const isPart = isKnown && state.rows.length !== nodes.size;
  element('shown').textContent = isPart ? `${state.rows.length} of ${nodes.size}` : '';
  showChosenOf(state, options);
  showRowsOf(state, options);
}

function focusedIn(rows: readonly BoardRow[]): number {
  const id = document.activeElement?.id ?? '';
  return id.startsWith('to-') ? rows.findIndex((row) => id === `to-${uuidOf(row)}`) : -1;
}

/** The columns with that one, or without it; without a name the usual ones. */
function columnsWith(columns: readonly FleetColumnName[], name: string): readonly FleetColumnName[] {
  if (name === '') return usualColumns;
  return columnNames.filter((each) => columns.includes(each) !== (each === name));
}

function askAboutRows({ rows, chosen }: TableState, asking: AskOptions): void {
  const meant = meantRows(chosen, rows);
  if (meant.rows.length === 0) return;
  askWhich(
    {
      title: meant.title,
      meaning: 'Of each, those that it can be done to.',
      choices: choicesOf(actionsForRows(meant.rows)),
    },
    asking,
  );
}
