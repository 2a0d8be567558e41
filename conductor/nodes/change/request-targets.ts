import { isDeepStrictEqual } from 'node:util';
import { requirePowerFree } from '#conductor/drivers/with-held-power.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { BootMode, PowerTarget } from '#conductor/model/power-and-boot.ts';
import type { RequestIds } from '#conductor/model/request-ids.ts';
import { requireNoTransition } from '#conductor/nodes/change/plan-node-patch.ts';
import type { NodesContext, Nudging } from '#conductor/nodes/context.ts';
import { addHistory, changeNote } from '#conductor/nodes/node-history.ts';
import { requireInterface } from '#conductor/nodes/node-interfaces.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';

interface PowerRequest {
  readonly target: PowerTarget;
  /** How long it may take; the driver has defaults by target. */
  readonly timeoutSeconds?: number | undefined;
  readonly caller: Pick<Caller, 'user' | 'project' | keyof RequestIds>;
}

/**
 * Serves `PUT states/power`: stores the target, which a conductor then works towards; a crash in between loses nothing.
 * @throws AppError `invalid_argument` in cleaning or for a target the BMC lacks, `conflict` for a power off that the
 * node forbids, `power_held` while a step must not lose power, `node_locked` while a conductor works on it, `unavailable` when none could.
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
      eventType: 'power',
      ...changeNote(context, request.caller, `'${request.target}' requested`),
      notify: {
        type: 'node.power_state',
        data: { power_state: node.powerState, target_power_state: request.target, event: 'requested' },
      },
    });
  });
  context.nudge(nodeUuid);
}

function checkPowerRequest(context: Pick<NodesContext, 'drivers' | 'clock'>, node: NodeRow, target: PowerTarget): void {
  requirePowerFree(node.powerHold, `'${target}'`, context.clock.now());
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

type BootTarget = { readonly bootMode: BootMode } | { readonly secureBoot: boolean };

/**
 * Serves `PUT states/boot_mode` and `states/secure_boot`: stores the target, which a conductor then sets at the BMC; a crash
 * in between loses nothing.
 * @throws AppError `not_supported` where the driver can't, `conflict` while a flow is under way, `node_locked`.
 */
export async function requestBootMode(
  context: Pick<NodesContext, 'db' | 'clock' | 'drivers' | 'config' | 'conductors'> & Nudging,
  nodeUuid: string,
  target: BootTarget,
  caller: Pick<Caller, 'user' | 'project' | keyof RequestIds>,
): Promise<void> {
  const isMode = 'bootMode' in target;
  const asked = isMode ? `boot mode '${target.bootMode}'` : `secure boot ${target.secureBoot ? 'on' : 'off'}`;
  await context.conductors.live();
  await changeUnlocked(context, nodeUuid, async (tx, node) => {
    requireLiveConductor(context, node);
    requireNoTransition(node);
    requireFirmwareBoot(context, node, isMode ? 'set_boot_mode' : 'set_secure_boot_state');
    await updateNode(tx, node.uuid, {
      ...(isMode ? { targetBootMode: target.bootMode } : { targetSecureBoot: target.secureBoot }),
      lastError: null,
    });
    await addHistory(tx, {
      nodeUuid: node.uuid,
      eventType: 'boot mode',
      ...changeNote(context, caller, `${asked} requested`),
    });
  });
  context.nudge(nodeUuid);
}

function requireFirmwareBoot(context: Pick<NodesContext, 'drivers'>, node: NodeRow, method: string): void {
  if (context.drivers.connect(node).firmwareBoot) return;
  throw new AppError(
    'not_supported',
    `Driver ${node.driver} does not support ${method}: set it in the machine's firmware, or enroll the node with redfish.`,
  );
}

/**
 * Serves `PUT /v1/nodes/{node}/states/raid`: what the next `raid.create_configuration` builds; `{}` = nothing. The disks are
 * not touched.
 * @throws AppError `invalid_argument` naming every wrong field, or for a node whose `raid_interface` is `no-raid`, `conflict` while a flow is under way, `node_locked`.
 */
export async function changeTargetRaidConfig(
  context: Pick<NodesContext, 'db' | 'clock' | 'config'>,
  nodeUuid: string,
  target: JsonObject,
  caller: Caller,
): Promise<void> {
  const targetRaidConfig = Object.keys(target).length === 0 ? {} : parseTargetRaidConfig(target);
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      requireNoTransition(node);
      requireInterface(node, 'raid');
      const isSame = isDeepStrictEqual(node.targetRaidConfig, targetRaidConfig);
      if (!isSame) await updateNode(tx, nodeUuid, { targetRaidConfig });
      return isSame ? undefined : changeNote(context, caller, 'target_raid_config set');
    },
    (note) => note,
  );
}
