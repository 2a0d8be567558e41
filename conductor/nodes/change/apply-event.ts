import { sql } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { tableWriter } from '#conductor/kernel/db/query/table-writer.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import {
  legalVerbs,
  nextProvisionState,
  type ProvisionEvent,
  type ProvisionState,
} from '#conductor/model/provision-states.ts';
import { type OfRequest, requestIdsOf } from '#conductor/model/request-ids.ts';
import { actedVia, addHistory } from '#conductor/nodes/node-history.ts';
import { type NodeChange, nodeReader } from '#conductor/nodes/node-store.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ApplyEventOptions extends OfRequest {
  readonly conductor: string;
  readonly user?: string | undefined;
  readonly project?: string | undefined;
  /** The thing that acts in the user's name. */
  readonly via?: string | undefined;
  /** Where the node is going while it works; `null` once it has arrived. Left as it is when absent. */
  readonly target?: ProvisionState | null;
  /** `null` clears it; left as it is when absent. */
  readonly lastError?: string | null;
  /** Other changes of the node that go with it. */
  readonly change?: NodeChange;
  /** The event that follows at once and takes the node to where it was going. */
  readonly arrives?: ProvisionEvent | undefined;
}

const mover = tableWriter<typeof nodes, unknown, { readonly from: ProvisionState }>(nodes, {
  primaryKey: 'uuid',
  also: sql`provision_updated_at = now(), updated_at = now()`,
  only: { from: (value) => sql`provision_state = ${value}` },
  returning: sql.raw(nodeReader.selected),
});

/**
 * The only writer of `provision_state`: moves the node along the transition table and adds the history row, in the
 * caller's transaction.
 * @throws AppError `invalid_argument` (HTTP 400, as Ironic) naming the legal verbs when the event is not possible now,
 * `conflict` when another transaction moved the node first.
 */
export async function applyEvent(
  tx: Transaction,
  node: Pick<
    NodeRow,
    'uuid' | 'provisionState' | 'provisionUpdatedAt' | 'targetProvisionState' | 'lastError' | 'fault'
  >,
  event: ProvisionEvent,
  options: ApplyEventOptions,
): Promise<NodeRow> {
  const { change, arrives } = options;
  const first = moveBy(node, event, options);
  const last = arrives ? moveBy({ ...node, ...first }, arrives, { target: null }) : first;
  const moved = mover.update(tx, node.uuid, { ...change, ...last, from: node.provisionState });
  const notified = last.provisionState === 'available' ? notifyCapacity(tx, node.uuid) : Promise.resolve();
  const noted = note(tx, node, event, first, options);
  const through = { ...node, ...first, provisionUpdatedAt: new Date() };
  const followed = arrives ? note(tx, through, arrives, last, { ...options, lastError: null }) : noted;
  const [[row]] = await allTogether([moved, notified, noted, followed]);
  if (row) return nodeReader.read(row);
  throw new AppError('conflict', `node ${node.uuid} has left state '${node.provisionState}' in the meantime`);
}

type Move = Pick<NodeRow, 'provisionState' | 'targetProvisionState' | 'lastError'>;

function moveBy(
  node: Move & Pick<NodeRow, 'uuid' | 'fault'>,
  event: ProvisionEvent,
  { target = node.targetProvisionState, lastError = node.lastError }: Partial<ApplyEventOptions>,
): Move {
  const next = nextProvisionState(node.provisionState, event, node.fault);
  if (!next) throw impossibleEvent(node, event);
  return { provisionState: next, targetProvisionState: target, lastError };
}

/** Returns the refusal of a verb or an event that the node's state does not have, with those that it has. */
export function impossibleEvent(
  { uuid, provisionState, fault }: Pick<NodeRow, 'uuid' | 'provisionState' | 'fault'>,
  action: string,
): AppError {
  return new AppError(
    'invalid_argument',
    `The requested action '${action}' can not be performed on node '${uuid}' while it is in state '${provisionState}'. ` +
      `Possible now: ${legalVerbs(provisionState, fault).join(', ') || 'nothing, until the work under way ends'}.`,
  );
}

/** Notes an event in the node's history, except waiting and resuming, which are in the flow's own log. */
async function note(
  tx: Transaction,
  {
    uuid: nodeUuid,
    provisionState: from,
    provisionUpdatedAt,
  }: Pick<NodeRow, 'uuid' | 'provisionState' | 'provisionUpdatedAt'>,
  event: ProvisionEvent,
  { provisionState: to, targetProvisionState: target, lastError }: Move,
  options: ApplyEventOptions,
): Promise<void> {
  if (event === 'wait' || event === 'resume') return;
  const { conductor, user, project } = options;
  await addHistory(tx, {
    notify: { type: 'node.provision_state', data: { from, to, target, last_error: lastError, event } },
    nodeUuid,
    severity: options.lastError ? 'ERROR' : 'INFO',
    eventType: 'provisioning',
    event: actedVia(`${from} → ${to}${options.lastError ? `: ${options.lastError}` : ''}`, options),
    conductor,
    user,
    project,
    ...requestIdsOf(options),
    // the clocks of conductors and database may differ
    durationSeconds: Math.max(0, Math.floor((Date.now() - provisionUpdatedAt.getTime()) / 1000)),
  });
}
