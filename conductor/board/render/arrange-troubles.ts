import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { describeDistrust } from '#conductor/board/render/describe-attestation.ts';
import { naturalKey } from '#conductor/board/render/fleet-columns.ts';
import { statusOf } from '#conductor/board/render/node-status.ts';
import { type BoardNode, type BoardRow, isIll, nameOf, uuidOf } from '#conductor/board/render/render-board.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { compareTexts } from '#shared/compare-texts.ts';

/** A cause that needs somebody, on one node or on many. */
export interface Trouble {
  /** The same as long as the cause is. */
  readonly key: string;
  /** The worst of its rows'. */
  readonly status: TroubleStatus;
  /** Flows and steps that its nodes were at, each once: `deploy ▸ deploy.write_image`. */
  readonly doing: readonly string[];
  /** The reason that the first of its rows gives. */
  readonly reason: string;
  /** The ones that give up soonest first, then the oldest, then in the order of their names. */
  readonly rows: readonly BoardRow[];
}
/**
 * `error`: a node that rests, with what went wrong with it last; `critical`, `warning`: its health by its BMC; `distrusted`:
 * its newest boot, or another TPM in its place.
 */
export type TroubleStatus = FlowSummaryView['status'] | 'error' | 'critical' | 'warning' | 'distrusted';

/** Statuses in the order in which they are shown: failed, about to fail, waiting for the operator; a warning stops nothing. */
const worst: readonly TroubleStatus[] = [
  'failed',
  'distrusted',
  'critical',
  'retrying',
  'slow',
  'held',
  'error',
  'warning',
];

/** Where a node with an error rests because of it; elsewhere it is a memory. */
const broken = /failed|error|enroll/;

interface Found {
  readonly row: BoardRow;
  readonly status: TroubleStatus;
  readonly doing: string;
  readonly reason: string;
}

/**
 * Arranges what of the fleet needs somebody, the cause that stops most nodes first. Rows of one cause are one trouble,
 * whatever step each has come to: an address that several nodes name is a thing of its own, as a switch or a server is; of
 * addresses that each node has for itself, as BMCs', one is like the other. What an operator has aborted is no trouble. Pure.
 */
export function arrangeTroubles(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): Trouble[] {
  const allFlows = [...flows]; // the fleet's are read once
  const found = [...findTroubles(allFlows, nodes), ...findIll(nodes), ...findDistrusted(allFlows, nodes)];
  const shared = findShared(found);
  const groups = Map.groupBy(found, (each) => keyOf(identify(each, shared)));
  const troubles = [...groups].map(([key, all]): Trouble => {
    const sorted = all
      .map((each) => ({ each, name: naturalKey(nameOf(each.row)) }))
      .toSorted((a, b) => bySoonest(a.each.row, b.each.row) || compareTexts(a.name, b.name))
      .map(({ each }) => each);
    return {
      key,
      status: worst.find((status) => all.some((each) => each.status === status)) ?? 'error',
      doing: [...new Set(sorted.map(({ doing }) => doing))],
      reason: sorted[0]?.reason ?? '',
      rows: sorted.map(({ row }) => row),
    };
  });
  return troubles.toSorted(
    (a, b) =>
      b.rows.length - a.rows.length ||
      worst.indexOf(a.status) - worst.indexOf(b.status) ||
      bySoonest(a.rows[0], b.rows[0]),
  );
}

/** Lists the nodes that rest since an operator aborted their last flow. Pure. */
export function listAborted(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): BoardRow[] {
  const rows: BoardRow[] = [];
  for (const flow of flows) {
    const row = { flow, node: nodes.get(flow.node_uuid) };
    if (statusOf(row) === 'aborted') rows.push(row);
  }
  return rows;
}

function findTroubles(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): Found[] {
  const found: Found[] = [];
  const busy = new Set<string>();
  for (const flow of flows) {
    busy.add(flow.node_uuid);
    const { status, kind, step, reason, node_uuid: uuid } = flow;
    const row = { flow, node: nodes.get(uuid) };
    if (!worst.includes(status) || statusOf(row) === 'aborted') continue;
    const doing = step === null || step === kind ? kind : `${kind} ▸ ${step}`;
    found.push({ row, status, doing, reason: reason ?? '' });
  }
  for (const node of nodes.values()) {
    const { uuid, provision_state: doing, last_error: reason } = node;
    if (busy.has(uuid)) continue;
    if (node.fault === nodeFaults.restored) {
      // nothing says yet what its machine does
      found.push({ row: { flow: undefined, node }, status: 'held', doing, reason: node.maintenance_reason ?? '' });
      continue;
    }
    if (reason === null || !broken.test(doing)) continue;
    found.push({ row: { flow: undefined, node }, status: 'error', doing, reason });
  }
  return found;
}

/** Finds the nodes that are not well by their BMCs, whatever they do; one in maintenance is in somebody's hands. */
function findIll(nodes: ReadonlyMap<string, BoardNode>): Found[] {
  return [...nodes.values()].flatMap((node): Found[] => {
    if (!isIll(node) || node.maintenance) return [];
    const isCritical = node.health === 'Critical';
    // of what it does, the list of flows says whether it goes as it should
    const row: BoardRow = { flow: undefined, node };
    const reason = isCritical ? 'the BMC says that its health is critical' : 'the BMC warns of its health';
    return [{ row, status: isCritical ? 'critical' : 'warning', doing: node.provision_state, reason }];
  });
}

/** Finds the nodes whose machines are not as they were accepted, whatever they do. */
function findDistrusted(flows: readonly FlowSummaryView[], nodes: ReadonlyMap<string, BoardNode>): Found[] {
  // a flow that has failed by it says the same
  const refused = new Set(flows.filter(({ code }) => code === 'boot_not_trusted').map(({ node_uuid: uuid }) => uuid));
  return [...nodes.values()].flatMap((node): Found[] => {
    const reason = describeDistrust(node);
    if (reason === undefined || refused.has(node.uuid)) return [];
    return [{ row: { flow: undefined, node }, status: 'distrusted', doing: 'attestation', reason }];
  });
}

/** Makes the text that is the same for one cause: its code and its one subject, else the words without what differs. */
function identify({ reason, row }: Found, shared: ReadonlySet<string>): string {
  const { code, subject } = row.flow ?? { code: null, subject: null };
  if (code !== null && subject !== null && shared.has(subject)) return `${code}\n${subject}`;
  return `${code ?? ''}\n${causeOf(reason, nameOf(row), shared)}`;
}

/** Finds the subjects, and the addresses, that more than one node names. */
function findShared(found: readonly Found[]): ReadonlySet<string> {
  const namedBy = new Map<string, Set<string>>();
  const add = (name: string, row: BoardRow): void => {
    namedBy.set(name, (namedBy.get(name) ?? new Set()).add(uuidOf(row)));
  };
  for (const { reason, row } of found) {
    if (row.flow && row.flow.subject !== null) add(row.flow.subject, row);
    for (const [address] of reason.slice(0, longest).matchAll(addresses)) add(address, row);
  }
  return new Set([...namedBy].flatMap(([address, uuids]) => (uuids.size > 1 ? [address] : [])));
}

/** Addresses with a port or without, as sentences name them. */
const addresses = /(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?/gi;

/** ISO times are ordered as text. */
function bySoonest(a: BoardRow | undefined, b: BoardRow | undefined): number {
  return (
    compareTexts(a?.flow?.until ?? '~', b?.flow?.until ?? '~') ||
    compareTexts(a?.flow?.since ?? '', b?.flow?.since ?? '')
  );
}

/**
 * The reason without what differs from node to node: its name, UUIDs, addresses, numbers. Pure.
 * @param shared addresses that stay, since several nodes name them
 */
export function causeOf(reason: string, name: string, shared: ReadonlySet<string> = new Set()): string {
  const kept: string[] = [];
  // no number stands in the sign for an address that is kept
  const text = reason.slice(0, longest).replaceAll(addresses, (address) => {
    if (!shared.has(address)) return address;
    kept.push(address);
    return '⌂';
  });
  const cause = (name === '' ? text : text.replaceAll(name, '…'))
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b[0-9a-f]{2}([:-][0-9a-f]{2}){5}\b/gi, '…')
    .replaceAll(/\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}/gi, '…')
    .replaceAll(/\d+/g, '#');
  return [cause, ...kept].join('\n');
}

/** Length that is shown of a cause: machines may say a lot. */
const longest = 500;

/** Fits into an id of the page, whatever machines have said. */
function keyOf(text: string): string {
  let hash = 0n;
  for (const sign of text) hash = (hash * 31n + BigInt(sign.codePointAt(0) ?? 0)) & 0xff_ffff_ffff_ffffn;
  return hash.toString(36);
}
