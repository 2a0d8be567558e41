import { and, eq, isNull } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { isWordOnRestored, type ProvisionVerb, provisionVerbs } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Restored = Pick<NodeRow, 'uuid' | 'name' | 'fault'>;

/**
 * Refuses verbs on a node from a dump: what is known of it may be long past, an instance run where a deploy was under
 * way. Until somebody says what it is, no verb acts on it. Making it safe would switch that instance off.
 * @throws AppError `invalid_argument` naming the verbs that say it
 */
export function requireKnownMachine(node: Restored, verb: ProvisionVerb): void {
  if (node.fault !== nodeFaults.restored || isWordOnRestored(node, provisionVerbs[verb].event)) return;
  throw new AppError(
    'invalid_argument',
    `Node ${node.uuid} was restored from a dump, or from a standby that was behind, and nothing says what its machine does now: '${verb}' is not possible. ${waysOut(node)}`,
  );
}

/**
 * Refuses work that was under way when the dump was taken, unless the agent that did it has called in since: the work would
 * fail, and power off a machine in use.
 * @param node its row is locked
 * @throws AppError `conflict` naming what ends that work without touching the machine
 */
export async function requireAgentSinceRestore(tx: Transaction, node: Restored): Promise<void> {
  if (node.fault !== nodeFaults.restored) return;
  const [open] = await tx
    .select({ kind: flows.kind, heardAt: agentSessions.lastHeartbeatAt })
    .from(flows)
    .leftJoin(agentSessions, eq(agentSessions.nodeUuid, flows.nodeUuid))
    .where(and(eq(flows.nodeUuid, node.uuid), isNull(flows.endedAt)));
  // the restore forgets when agents called in last
  if (!open || open.heardAt !== null) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid} was restored from a dump, or from a standby that was behind, in the middle of its ${open.kind}, and no agent has called in since: going ` +
      `on would power off whatever runs there now. ${waysOut(node)}`,
  );
}

function waysOut({ uuid, name }: Restored): string {
  const node = name ?? uuid;
  return (
    `Look at the machine, then say what it is: \`baton adopt ${node}\` if an instance runs on it (it becomes active), ` +
    `\`baton manage ${node}\` if not (it becomes manageable). Neither touches the machine; then end the maintenance.`
  );
}
