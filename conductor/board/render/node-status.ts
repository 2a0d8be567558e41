import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { type Html, html } from '#conductor/board/render/html.ts';
import type { BoardNode, BoardRow } from '#conductor/board/render/render-board.ts';

/**
 * Statuses of a node for somebody who looks at the fleet, the worst first, by the names that filters and styles use; each
 * has a shape of its own: colour alone says nothing to some.
 */
export const nodeStatuses = {
  failed: { shape: '✖', words: 'failed' },
  retrying: { shape: '↻', words: 'retrying' },
  slow: { shape: '◔', words: 'waits for long' },
  held: { shape: '‖', words: 'held' },
  aborted: { shape: '⊘', words: 'aborted' },
  maintenance: { shape: '⚑', words: 'in maintenance' },
  working: { shape: '▶', words: 'at work' },
  idle: { shape: '◌', words: 'not ready' },
  free: { shape: '○', words: 'free' },
  used: { shape: '●', words: 'in use' },
} as const;
export type NodeStatus = keyof typeof nodeStatuses;
export const statusNames = Object.keys(nodeStatuses) as NodeStatus[];

const ofFlow: Readonly<Record<FlowSummaryView['status'], NodeStatus>> = {
  failed: 'failed',
  retrying: 'retrying',
  slow: 'slow',
  held: 'held',
  waiting: 'working',
  working: 'working',
};

/** Finds the status of a node, by its flow while that counts. Pure. */
export function statusOf({ flow, node }: BoardRow): NodeStatus {
  if (flow) return flow.status === 'failed' && flow.state === 'aborted' ? 'aborted' : ofFlow[flow.status];
  return statusAtRest(node);
}

function statusAtRest({ provision_state: state, maintenance }: BoardNode): NodeStatus {
  if (/failed|error/.test(state)) return 'failed';
  if (maintenance) return 'maintenance';
  if (state === 'active' || state === 'rescue') return 'used';
  return state === 'available' ? 'free' : 'idle';
}

/** `✖ failed`, in the status's colour. */
export function renderStatus(status: NodeStatus): Html {
  const { shape, words } = nodeStatuses[status];
  return html`<span class="status ${status}">${shape} ${words}</span>`;
}
