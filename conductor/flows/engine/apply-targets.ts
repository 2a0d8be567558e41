import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type PowerTarget, powerStateAfter } from '#conductor/model/power-and-boot.ts';
import { renewBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { type FirmwareBootColumns, readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { holdLease, type Lease } from '#conductor/nodes/node-lease.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const halfOf: Readonly<Partial<Record<PowerTarget, PowerTarget>>> = {
  rebooting: 'power off',
  'soft rebooting': 'soft power off',
};

/** Records what is left of a reboot: a conductor that takes over would switch off a machine that is on its way. */
async function noteOff({ db }: EngineContext, lease: Lease): Promise<void> {
  await db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await updateNode(tx, lease.nodeUuid, { targetPowerState: 'power on', powerState: 'power off' });
    await forgetAgentSession(tx, lease.nodeUuid);
  });
}

/** Brings the node to the power state that an operator has asked for; a failure ends in `last_error`. */
export async function applyPowerTarget(context: EngineContext, lease: Lease, signal: AbortSignal): Promise<void> {
  const node = await getNode(context.db, lease.nodeUuid);
  const target = node.targetPowerState;
  if (!target) return;
  const reach = async (state: PowerTarget, isFirst = true): Promise<string | undefined> => {
    try {
      const bmc = context.drivers.connect(node, { node: node.uuid });
      if (isFirst) await renewBootDevice(bmc, target, { node, log: context.log, signal });
      // without the operator's word the driver's own limits hold: an operating system may take minutes to go down
      const limit = node.powerTimeout === null ? {} : { timeoutMs: node.powerTimeout * 1000 };
      await bmc.power.setPowerState(state, { signal, ...limit });
      return undefined;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      context.log.warn({ node: node.uuid, err: error }, 'power action failed');
      return `power target '${target}' failed: ${errorChain(error)}`;
    }
  };
  const off = halfOf[target];
  let failure = await reach(off ?? target);
  if (off !== undefined && failure === undefined) {
    await noteOff(context, lease);
    failure = await reach('power on', false);
  }
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await updateNode(tx, node.uuid, {
      targetPowerState: null,
      powerTimeout: null,
      ...(failure === undefined ? { powerState: powerStateAfter(target), powerFailures: 0 } : { lastError: failure }),
    });
    if (failure === undefined && target !== 'power on') await forgetAgentSession(tx, node.uuid);
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: failure === undefined ? 'INFO' : 'ERROR',
      eventType: 'power',
      event: failure ?? `'${target}' done`,
      notify: {
        type: 'node.power_state',
        data: {
          power_state: failure === undefined ? powerStateAfter(target) : node.powerState,
          target_power_state: null,
          event: failure ?? 'done',
        },
      },
      conductor: context.config.conductorName,
    });
  });
}

/** Sets the boot mode and secure boot that an operator has asked for; a failure ends in `last_error`. */
export async function applyBootTargets(context: EngineContext, lease: Lease, signal: AbortSignal): Promise<void> {
  const node = await getNode(context.db, lease.nodeUuid);
  const { targetBootMode, targetSecureBoot } = node;
  if (targetBootMode === null && targetSecureBoot === null) return;
  const wanted = [
    ...(targetBootMode === null ? [] : [`boot mode '${targetBootMode}'`]),
    ...(targetSecureBoot === null ? [] : [`secure boot ${targetSecureBoot ? 'on' : 'off'}`]),
  ].join(' and ');
  let failure: string | undefined;
  let firmware: FirmwareBootColumns = {};
  try {
    firmware = await applyTargets(context, node, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    failure = `${wanted} failed: ${errorChain(error)}`;
    context.log.warn({ node: node.uuid, err: error }, 'boot mode not set');
  }
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await updateNode(tx, node.uuid, {
      targetBootMode: null,
      targetSecureBoot: null,
      ...firmware,
      ...(failure === undefined ? {} : { lastError: failure }),
    });
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: failure === undefined ? 'INFO' : 'ERROR',
      eventType: 'boot mode',
      event: failure ?? `${wanted} done`,
      conductor: context.config.conductorName,
    });
  });
}

async function applyTargets(context: EngineContext, node: NodeRow, signal: AbortSignal): Promise<FirmwareBootColumns> {
  const bmc = context.drivers.connect(node, { node: node.uuid });
  const { firmwareBoot } = bmc;
  if (!firmwareBoot) throw new AppError('not_supported', `driver ${node.driver} can not set them`);
  if (node.targetBootMode !== null) await firmwareBoot.setBootMode(node.targetBootMode, { signal });
  if (node.targetSecureBoot !== null) await firmwareBoot.setSecureBoot(node.targetSecureBoot, { signal });
  const known = await readFirmwareBoot(bmc, { log: context.log, signal });
  // whatever the BMC shows until then: the next boot is to leave it so
  return node.targetBootMode === null ? known : { ...known, bootMode: node.targetBootMode };
}
