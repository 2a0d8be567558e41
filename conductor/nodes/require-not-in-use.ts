import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic's states in which a port's connection may change, and those of no instance besides. */
const rewirableStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'enroll',
  'manageable',
  'available',
  'inspecting',
  'inspect wait',
  'inspect failed',
]);

/**
 * The machine's address and switch port are how a flow reaches it, and how tear-down takes it off its tenant's network:
 * a port that is changed in between would leave its switch port there.
 * @throws AppError `conflict` naming the states in which it is possible.
 */
export function requireNotInUse(
  node: NodeRow,
  what: 'port' | 'port group',
  verb: 'created' | 'changed' | 'deleted',
): void {
  if (node.maintenance || rewirableStates.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `A ${what} of node ${node.uuid} can not be ${verb} while the node is in '${node.provisionState}'. ` +
      `Possible in: ${[...rewirableStates].join(', ')}, or any state in maintenance.`,
  );
}
