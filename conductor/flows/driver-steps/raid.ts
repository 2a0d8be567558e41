import { z } from 'zod';
import type { RaidController, RaidVolume } from '#conductor/drivers/interfaces.ts';
import { awaitReset, resetMachine } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import {
  again,
  areNextOnes,
  areShown,
  askForAll,
  deletedAt,
  noteControllers,
  pollMs,
} from '#conductor/flows/driver-steps/ask-for-volumes.ts';
import { requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { type PlannedVolume, planVolumes } from '#conductor/flows/driver-steps/plan-volumes.ts';
import { runThenSettle, settlingLater } from '#conductor/flows/driver-steps/settle-left.ts';
import { markRefusals } from '#conductor/flows/log/changed-nothing.ts';
import {
  type ConductorStepOutcome,
  type DriverStep,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import { parseTargetRaidConfig, type TargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/** How long a controller may be at what it was asked for before it is taken to wait for a reset. */
const unsaidMs = 10 * 60_000;
const gib = 1024 ** 3;

const ApplyArgs = z.strictObject({
  raid_config: z
    .unknown()
    .refine((value) => value !== undefined, { error: 'must be given' })
    .describe('The target RAID configuration: {"logical_disks": […]}'),
  delete_existing: z
    .boolean()
    .default(true)
    .describe("Whether the controllers' other volumes are deleted first; default true"),
});

/** With `raid_interface: redfish`; else RAID is software RAID, and these names are the agent's steps. */
const offered = {
  interface: 'raid',
  interfaceName: 'redfish',
  abortable: false,
  args: z.strictObject({}),
  isOffered: (bmc) => bmc.raid !== undefined,
  mustNotLosePower: ({ config }) => config.callbackTimeoutMs,
} as const satisfies Partial<DriverStep>;

export const raidSteps: readonly DriverStep[] = [
  {
    ...offered,
    step: 'apply_configuration',
    description: 'Makes volumes of the configuration given on the storage controllers.',
    priorities: { deploy: 0, service: 0 },
    args: ApplyArgs,
    run: (context) => runThenSettle(context, () => makeVolumes(context, appliedConfig(context))),
    resume: (context) => settlingLater(context, () => awaitVolumes(context, appliedConfig(context))),
  },
  {
    ...offered,
    step: 'create_configuration',
    description: "Makes volumes of the node's target_raid_config on the storage controllers.",
    priorities: { clean: 0, service: 0 },
    run: (context) => runThenSettle(context, () => makeVolumes(context, targetConfig(context))),
    resume: (context) => settlingLater(context, () => awaitVolumes(context, targetConfig(context))),
  },
  {
    ...offered,
    step: 'delete_configuration',
    description: 'Deletes all volumes of the storage controllers, and what is on them.',
    priorities: { clean: 0, service: 0 },
    run: (context) => runThenSettle(context, deleteVolumes),
    resume: (context) => settlingLater(context, awaitDeletion),
  },
];

interface Wanted {
  readonly config: TargetRaidConfig;
  readonly deleteExisting: boolean;
}

function appliedConfig(context: StepContext): Wanted {
  const args = ApplyArgs.parse(stepArgs(context));
  return { config: parseTargetRaidConfig(args.raid_config, 'raid_config'), deleteExisting: args.delete_existing };
}

function targetConfig({ node }: StepContext): Wanted {
  return { config: parseTargetRaidConfig(node.targetRaidConfig), deleteExisting: false };
}

/** Run again after a crash it goes on with what is missing: drives are chosen the same way each time. */
async function makeVolumes(context: StepContext, wanted: Wanted): Promise<ConductorStepOutcome> {
  const raid = requireOffered(context, (bmc) => bmc.raid);
  const { signal } = context;
  const controllers = await raid.getControllers({ signal });
  const plan = await markRefusals(context, () => planVolumes(wanted.config, controllers));
  const inTheWay = listInTheWay(wanted, controllers, plan);
  const missing = plan.filter(({ existing }) => !existing);
  // some controllers delete the last one alone
  const asked = await askForAll<FoundVolume | PlannedVolume>(context, [...inTheWay.toReversed(), ...missing], {
    ask: (change) =>
      'volume' in change
        ? raid.deleteVolume(change.controller, change.volume, { signal })
        : raid.createVolume(change, { signal }),
    title: (change) => ('volume' in change ? change.volume.path : titleOf(change)),
  });
  if ('kind' in asked) return asked;
  return shown(context, 'the controllers to show their volumes', async () => {
    const now = await raid.getControllers({ signal });
    const made = planVolumes(wanted.config, now);
    const left = leftOver(wanted, now, made);
    if (left.length > 0) return () => again(context, describeLeft(left), asked);
    const late = made.filter(({ existing }) => !existing);
    if (late.length === 0) return () => finish(context, made);
    const about = `the controller to make ${describeMissing(late)}`;
    if (late.some(({ controller }) => isAtWork(context, controller, asked))) return () => again(context, about, asked);
    return () => resetMachine(context, (after) => awaitVolumes(after, wanted));
  });
}

/**
 * Reads what came of a change that was asked for, and does what follows from it: what can't be read of it, or not be
 * understood, is no end of it; nor is a reset that the BMC refuses.
 * @param read answers what to do
 */
async function shown(
  context: StepContext,
  about: string,
  read: () => Promise<() => ConductorStepOutcome | Promise<ConductorStepOutcome>>,
): Promise<ConductorStepOutcome> {
  let subject = about;
  try {
    const follow = await read();
    subject = 'the machine to be reset';
    return await follow();
  } catch (error) {
    const isPassing = ['bmc_error', 'busy', 'invalid_argument', 'storage_error'].includes(errorCode(error));
    if (context.signal.aborted || !isPassing) throw error;
    return again(context, subject, [errorChain(error)]);
  }
}

/** Whether a controller may be at it now. One that doesn't say when it acts is given time, where it was asked before. */
function isAtWork({ clock, step }: StepContext, { applyTimes }: RaidController, refusals: readonly string[]): boolean {
  if (applyTimes.length > 0) return applyTimes.includes('Immediate');
  const sinceMs = clock.now().getTime() - (step.startedAt?.getTime() ?? 0);
  return refusals.length > 0 && sinceMs < unsaidMs;
}

/**
 * Lists the volumes that are to be deleted first.
 * @throws AppError `storage_error` when other volumes, which are to stay, have the drives
 */
function listInTheWay(
  wanted: Wanted,
  controllers: readonly RaidController[],
  plan: readonly PlannedVolume[],
): readonly FoundVolume[] {
  const needed = new Set(plan.flatMap(({ drives }) => drives.map(({ path }) => path)));
  const taken = othersThan(plan, controllers).filter(({ volume }) => volume.drives.some((path) => needed.has(path)));
  if (!wanted.deleteExisting && taken.length > 0) {
    const names = taken.map(({ volume }) => volume.name).join(', ');
    throw new AppError('storage_error', `the drives are those of ${names}: run raid.delete_configuration first`);
  }
  const left = leftOver(wanted, controllers, plan);
  const late = left.filter(({ controller }) => !controller.applyTimes.includes('Immediate'));
  if (late.length > 0) {
    const ids = new Set(late.map(({ controller }) => controller.id));
    throw new AppError(
      'not_supported',
      `volumes of ${[...ids].join(', ')} are deleted at a reset only: run raid.delete_configuration before, which resets the machine`,
    );
  }
  return left;
}

/** Finds the volumes that the step deletes and that are shown still. */
function leftOver(
  { deleteExisting }: Wanted,
  controllers: readonly RaidController[],
  plan: readonly PlannedVolume[],
): readonly FoundVolume[] {
  return deleteExisting ? othersThan(plan, controllers) : [];
}

function othersThan(plan: readonly PlannedVolume[], controllers: readonly RaidController[]): readonly FoundVolume[] {
  const kept = new Set(plan.map(({ existing }) => existing?.path));
  return volumesOf(controllers).filter(({ volume }) => !kept.has(volume.path));
}

async function awaitVolumes(context: StepContext, wanted: Wanted): Promise<ConductorStepOutcome> {
  const controllers = await requireOffered(context, (bmc) => bmc.raid).getControllers({ signal: context.signal });
  let plan: readonly PlannedVolume[];
  try {
    plan = planVolumes(wanted.config, controllers);
  } catch (error) {
    // a controller that starts shows its drives one by one
    return waiting(context, `the controllers to show their drives: ${errorChain(error)}`);
  }
  const left = leftOver(wanted, controllers, plan);
  if (left.length > 0) return waiting(context, describeLeft(left));
  const missing = plan.filter(({ existing }) => !existing);
  if (missing.length === 0) return finish(context, plan);
  const about = `the controller to make ${describeMissing(missing)}`;
  return areNextOnes(context, missing.map(titleOf)) ? again(context, about) : waiting(context, about);
}

/** Tells a volume from others of the configuration, before and after it is made. */
function titleOf({ drives }: PlannedVolume): string {
  return drives.map(({ path }) => path).join(' ');
}

function describeMissing(missing: readonly PlannedVolume[]): string {
  const shown = missing.map(({ level, controller, drives }) => {
    return `RAID ${level} of ${drives.map(({ name }) => name).join(', ')} on ${controller.id}`;
  });
  return shown.join('; ');
}

async function finish(context: StepContext, plan: readonly PlannedVolume[]): Promise<ConductorStepOutcome> {
  const outcome = await awaitReset(context);
  return outcome.kind === 'done' ? { kind: 'done', output: { logical_disks: plan.map(describeVolume) } } : outcome;
}

/** In the words of `raid_config`. */
function describeVolume({ wanted, controller, drives, existing }: PlannedVolume): object {
  return {
    ...wanted,
    size_gb: Math.floor((existing?.sizeBytes ?? 0) / gib),
    controller: controller.id,
    volume_name: existing?.name,
    physical_disks: drives.map(({ name }) => name),
    ...(existing?.wwn ? { root_device_hint: { wwn: existing.wwn } } : {}),
  };
}

async function deleteVolumes(context: StepContext): Promise<ConductorStepOutcome> {
  const raid = requireOffered(context, (bmc) => bmc.raid);
  const { signal } = context;
  const found = volumesOf(await raid.getControllers({ signal }));
  const at = await noteControllers(
    context,
    found.map(({ controller }) => controller),
  );
  // some controllers delete the last one alone
  const asked = await askForAll(context, found.toReversed(), {
    ask: ({ controller, volume }) => raid.deleteVolume(controller, volume, { signal }),
    title: ({ volume }) => volume.path,
  });
  if ('kind' in asked) return asked;
  return shown(context, 'the controllers to show their volumes', async () => {
    const controllers = await raid.getControllers({ signal, driveless: at.driveless });
    const left = volumesOf(controllers);
    const isNothing = at.ids.length + at.driveless.length === 0;
    if (left.length === 0 && (isNothing || areShown(controllers, at))) return () => awaitReset(context);
    const isLate = left.length === 0 || left.some(({ controller }) => isAtWork(context, controller, asked));
    return () => (isLate ? again(context, describeLeft(left), asked) : resetMachine(context, awaitDeletion));
  });
}

async function awaitDeletion(context: StepContext): Promise<ConductorStepOutcome> {
  const at = deletedAt(context);
  const raid = requireOffered(context, (bmc) => bmc.raid);
  const controllers = await raid.getControllers({ signal: context.signal, driveless: at.driveless });
  // a BMC that starts shows no controllers, or one after the other, and with them no volumes
  const left = volumesOf(controllers);
  if (left.length === 0 && areShown(controllers, at)) return awaitReset(context);
  const paths = left.map(({ volume }) => volume.path);
  return (areNextOnes(context, paths) ? again : waiting)(context, describeLeft(left));
}

function describeLeft(left: readonly FoundVolume[]): string {
  const names = left.map(({ volume }) => volume.name);
  if (names.length === 0) return 'the BMC to show its storage controllers again';
  return `the controller to delete ${names.join(', ')}`;
}

function waiting(context: StepContext, reason: string): ConductorStepOutcome {
  return { kind: 'wait', reason, code: 'bmc_task', timeoutMs: context.config.callbackTimeoutMs, checkEveryMs: pollMs };
}

interface FoundVolume {
  readonly controller: RaidController;
  readonly volume: RaidVolume;
}

function volumesOf(controllers: readonly RaidController[]): readonly FoundVolume[] {
  return controllers.flatMap((controller) => controller.volumes.map((volume) => ({ controller, volume })));
}
