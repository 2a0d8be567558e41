import type { Caller } from '#conductor/kernel/caller.ts';
import { requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PowerTarget } from '#conductor/model/power-states.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext, Nudging } from '#conductor/nodes/context.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface PowerRequest {
  readonly target: PowerTarget;
  /** How long it may take; the driver has defaults by target. */
  readonly timeoutSeconds?: number | undefined;
  readonly caller: Pick<Caller, 'user' | 'project'>;
}

/**
 * `PUT states/power`: stores the target, which a conductor then works towards; a crash in between loses nothing.
 * @throws AppError `invalid_argument` in cleaning or for a target the BMC lacks, `conflict` for a power off that the
 * node forbids, `node_locked` while a conductor works on it, `unavailable` when none could.
 */
export async function requestPower(
  context: Pick<NodesContext, 'db' | 'clock' | 'drivers' | 'config' | 'conductors'> & Nudging,
  nodeUuid: string,
  request: PowerRequest,
): Promise<void> {
  await context.conductors.live();
  await changeUnlocked(context, nodeUuid, async (tx, node) => {
    requireLiveConductor(context, node);
    checkPowerRequest(context, node, request.target);
    await updateNode(tx, node.uuid, {
      targetPowerState: request.target,
      powerTimeout: request.timeoutSeconds ?? null,
      lastError: null,
    });
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: 'INFO',
      eventType: 'power',
      event: `'${request.target}' requested`,
      conductor: context.config.conductorName,
      user: request.caller.user,
      project: request.caller.project,
      notify: {
        type: 'node.power_state',
        data: { power_state: node.powerState, target_power_state: request.target, event: 'requested' },
      },
    });
  });
  context.nudge(nodeUuid);
}

function checkPowerRequest(context: Pick<NodesContext, 'drivers'>, node: NodeRow, target: PowerTarget): void {
  if (node.provisionState === 'cleaning' || node.provisionState === 'clean wait') {
    throw new AppError(
      'invalid_argument',
      `The requested action '${target}' can not be performed on node '${node.uuid}' while it is in state '${node.provisionState}'.`,
    );
  }
  if (node.disablePowerOff && target !== 'power on') {
    throw new AppError('conflict', `Node ${node.uuid} has disable_power_off set: '${target}' is not possible.`);
  }
  const { power } = context.drivers.connect(node);
  if (!power.supportedTargets.includes(target)) {
    throw new AppError(
      'invalid_argument',
      `target: '${target}' is not supported; ${power.supportedTargets.join(', ')} are`,
    );
  }
}
