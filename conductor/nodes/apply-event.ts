import { sql } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { statement } from '#conductor/kernel/db/statement.ts';
import { together } from '#conductor/kernel/db/together.ts';
import {
  legalVerbs,
  nextProvisionState,
  type ProvisionEvent,
  type ProvisionState,
} from '#conductor/model/provision-states.ts';
import { actedVia, addHistory } from '#conductor/nodes/node-history.ts';
import { nodeReader } from '#conductor/nodes/node-store.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ApplyEventOptions {
  readonly conductor: string;
  readonly user?: string | undefined;
  readonly project?: string | undefined;
  /** What acts in the user's name. */
  readonly via?: string | undefined;
  /** Where the node is going while it works; `null` once it has arrived. Left as it is when absent. */
  readonly target?: ProvisionState | null;
  /** `null` clears it; left as it is when absent. */
  readonly lastError?: string | null;
}

interface Move {
  readonly uuid: string;
  readonly from: ProvisionState;
  readonly to: ProvisionState;
  readonly target: ProvisionState | null;
  readonly lastError: string | null;
}
const moveNode = statement<Move, NodeRow>(
  (value) => sql`
    update nodes set provision_state = ${value('to')}, target_provision_state = ${value('target')},
      last_error = ${value('lastError')}, provision_updated_at = now(), updated_at = now()
    where uuid = ${value('uuid')} and provision_state = ${value('from')} returning ${sql.raw(nodeReader.selected)}`,
  (raw) => nodeReader.read(raw),
);

/**
 * The only writer of `provision_state`: moves the node along the transition table and adds the history row, in the
 * caller's transaction.
 * @throws AppError `invalid_argument` (HTTP 400, as Ironic) naming the legal verbs when the event is not possible now,
 * `conflict` when another transaction moved the node first.
 */
export async function applyEvent(
  tx: Transaction,
  node: Pick<NodeRow, 'uuid' | 'provisionState' | 'targetProvisionState' | 'lastError'>,
  event: ProvisionEvent,
  options: ApplyEventOptions,
): Promise<NodeRow> {
  const next = nextProvisionState(node.provisionState, event);
  if (!next) {
    const verbs = legalVerbs(node.provisionState);
    throw new AppError(
      'invalid_argument',
      `The requested action '${event}' can not be performed on node '${node.uuid}' while it is in state ` +
        `'${node.provisionState}'. Possible now: ${verbs.join(', ') || 'nothing, until the work under way ends'}.`,
    );
  }
  const { target = node.targetProvisionState, lastError = node.lastError } = options;
  const moved = moveNode(tx, { uuid: node.uuid, from: node.provisionState, to: next, target, lastError });
  const notified = next === 'available' ? notifyCapacity(tx, node.uuid) : Promise.resolve();
  // that a flow waits and goes on again stands in its own log
  const noted =
    event === 'wait' || event === 'resume'
      ? Promise.resolve()
      : addHistory(tx, {
          notify: {
            type: 'node.provision_state',
            data: { from: node.provisionState, to: next, target, last_error: lastError, event },
          },
          nodeUuid: node.uuid,
          severity: options.lastError ? 'ERROR' : 'INFO',
          eventType: 'provisioning',
          event: actedVia(
            `${node.provisionState} → ${next}${options.lastError ? `: ${options.lastError}` : ''}`,
            options,
          ),
          conductor: options.conductor,
          user: options.user,
          project: options.project,
        });
  const [[row]] = await together([moved, notified, noted]);
  if (row) return row;
  throw new AppError('conflict', `node ${node.uuid} has left state '${node.provisionState}' in the meantime`);
}
