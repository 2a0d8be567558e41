import { cacheBiosSettings } from '#conductor/flows/bmc/bios-store.ts';
import { planWithAgent } from '#conductor/flows/conductor-steps/gather-steps.ts';
import {
  askSystemForRamdisk,
  followSystem,
  isOnItsWay,
  planInRamdisk,
  wantsKexecIntoRamdisk,
} from '#conductor/flows/conductor-steps/kexec-into-ramdisk.ts';
import { ramdiskRuns } from '#conductor/flows/conductor-steps/leave-ramdisk.ts';
import {
  hasCalledIn,
  isTrusted,
  powerIntoRamdisk,
  requireTrusted,
  waitForAgent,
} from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { requireDiskBoot } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { nodeRamdisk, unusedRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';

const firstHeartbeat = 'first heartbeat of the ramdisk';

/** @throws AppError `invalid_argument` where the node's own ramdisk can't be booted and no other may be */
async function noteOtherRamdisk(context: StepContext): Promise<void> {
  const { config, node } = context;
  nodeRamdisk(context, node);
  const { fault } = unusedRamdisk(context, node);
  if (fault === undefined) return;
  await context.record((tx) =>
    addHistory(tx, {
      nodeUuid: node.uuid,
      eventType: 'provisioning',
      event: `Baton's own ramdisk is booted: ${fault}`,
      conductor: config.conductorName,
      ...requestIdsOf(context.flow),
    }),
  );
}

const bootsRamdisk = {
  run: async (context) => {
    await cacheBiosSettings(context);
    if (isOnItsWay(context)) return followSystem(context, firstHeartbeat);
    if ((await ramdiskRuns(context)) && (await isTrusted(context))) return planWithAgent(context);
    await noteOtherRamdisk(context);
    if (await wantsKexecIntoRamdisk(context)) return askSystemForRamdisk(context);
    return powerIntoRamdisk(context, firstHeartbeat);
  },
  resume: async (context) => {
    await requireTrusted(context);
    if (isOnItsWay(context)) return followSystem(context, firstHeartbeat);
    return hasCalledIn(context) ? planInRamdisk(context) : waitForAgent(context, firstHeartbeat);
  },
} satisfies Partial<ConductorStep>;

export const deployConductorStep: ConductorStep = {
  interface: 'deploy',
  step: 'deploy',
  description: 'Boots the ramdisk on the provisioning network and asks its agent for its deploy steps.',
  ...bootsRamdisk,
  run: async (context) => {
    await requireDiskBoot(context);
    return bootsRamdisk.run(context);
  },
};

export const bootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'boot_ramdisk',
  description: "Boots the ramdisk on its kind's network and asks its agent for its steps.",
  ...bootsRamdisk,
};
