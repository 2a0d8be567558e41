import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { BoardNode, BoardRow } from '#conductor/board/render/render-board.ts';

/** A cause that needs somebody, on one node or on many. */
export interface Trouble {
  /** The same as long as the cause is. */
  readonly key: string;
  readonly status: TroubleStatus;
  readonly kind: string;
  readonly step: string | null;
  /** The reason that the first of its rows gives. */
  readonly reason: string;
  /** The ones that give up soonest first, then the oldest. */
  readonly rows: readonly BoardRow[];
}
/** `error`: a node that rests, with what went wrong with it last. */
export type TroubleStatus = FlowSummaryView['status'] | 'error';

/** Statuses in the order in which they are shown: failed, about to fail, waiting for the operator. */
const worst: readonly TroubleStatus[] = ['failed', 'retrying', 'slow', 'held', 'error'];

/** Where a node with an error rests because of it; elsewhere it is a memory. */
const broken = /failed|error|enroll/;

/**
 * Arranges what of the fleet needs somebody, the worst first; rows of one status, step and cause are one trouble. Pure.
 */
export function arrangeTroubles(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): Trouble[] {
  const found = new Map<string, { readonly trouble: Omit<Trouble, 'rows'>; readonly rows: BoardRow[] }>();
  const add = (row: BoardRow, trouble: Omit<Trouble, 'key' | 'rows'>, name: string): void => {
    const key = keyOf([trouble.status, trouble.kind, trouble.step ?? '', causeOf(trouble.reason, name)].join('\n'));
    const known = found.get(key);
    if (known) known.rows.push(row);
    else found.set(key, { trouble: { key, ...trouble }, rows: [row] });
  };
  const busy = new Set<string>();
  for (const flow of flows) {
    busy.add(flow.node_uuid);
    const { status, kind, step, reason, node_uuid: uuid, node_name: name } = flow;
    if (!worst.includes(status)) continue;
    add({ flow, node: nodes.get(uuid) }, { status, kind, step, reason: reason ?? '' }, name ?? uuid);
  }
  for (const node of nodes.values()) {
    const { uuid, name, provision_state: kind, last_error: reason } = node;
    if (busy.has(uuid) || reason === null || !broken.test(kind)) continue;
    add({ flow: undefined, node }, { status: 'error', kind, step: null, reason }, name ?? uuid);
  }
  const troubles = [...found.values()].map(({ trouble, rows }) => ({ ...trouble, rows: rows.toSorted(bySoonest) }));
  return troubles.toSorted(
    (a, b) => worst.indexOf(a.status) - worst.indexOf(b.status) || bySoonest(firstOf(a), firstOf(b)),
  );
}

const firstOf = ({ rows: [first] }: Trouble): BoardRow | undefined => first;

/** ISO times are ordered as text. */
function bySoonest(a: BoardRow | undefined, b: BoardRow | undefined): number {
  return compare(a?.flow?.until ?? '~', b?.flow?.until ?? '~') || compare(a?.flow?.since ?? '', b?.flow?.since ?? '');
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** The reason without what differs from node to node: its name, UUIDs, addresses, numbers. Pure. */
export function causeOf(reason: string, name: string): string {
  return reason
    .slice(0, longest)
    .replaceAll(name, '…')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b[0-9a-f]{2}([:-][0-9a-f]{2}){5}\b/gi, '…')
    .replaceAll(/\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}/gi, '…')
    .replaceAll(/\d+/g, '#');
}

/** Length that is shown of a cause: machines may say a lot. */
const longest = 500;

/** Fits into an id of the page, whatever machines have said. */
function keyOf(text: string): string {
  let hash = 0n;
  for (const sign of text) hash = (hash * 31n + BigInt(sign.codePointAt(0) ?? 0)) & 0xff_ffff_ffff_ffffn;
  return hash.toString(36);
}
