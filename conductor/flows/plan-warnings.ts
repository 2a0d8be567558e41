import { simulatedWipe } from '#conductor/flows/fakes-flow.ts';
import type { Plan, PlanRequest } from '#conductor/flows/read-plan.ts';
import { takesAnyTime } from '#conductor/flows/step-durations.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKind } from '#conductor/model/flow-kind.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { SparedDisk } from '#conductor/model/known-disk.ts';
import { type PlannedStep, stepKey } from '#conductor/model/planned-step.ts';
import type { UnusedRamdisk } from '#conductor/nodes/ramdisk-boot.ts';

/** What the operator should know of a plan that its steps don't say (pure). */
export function planWarnings(
  plan: Pick<Plan, 'steps' | 'isComplete' | 'inventoriedAt' | 'destroys'> & {
    readonly facts: Pick<Plan['facts'], 'isStale' | 'withoutAgent'>;
  },
  request: Pick<PlanRequest, 'kind' | 'wipe'>,
  node: {
    readonly isFastTracked: boolean;
    readonly sparedDisks?: NodeRow['sparedDisks'];
    readonly owedWipe?: NodeRow['owedWipe'];
    /** A wipe does nothing at it. */
    readonly fakesWipe?: boolean;
    readonly unusedRamdisk?: UnusedRamdisk;
  },
): string[] {
  const kind = flowKinds[request.kind];
  const { inventoriedAt: inventoried, facts, steps } = plan;
  const usesDisks = steps.some((step) => step.inBand);
  const asksAgain = kind.inBand !== undefined && facts.isStale === true && facts.withoutAgent === undefined;
  return [
    ...(plan.isComplete
      ? []
      : ["The agent's steps are not known: this node's ramdisk has not been asked yet. It may add steps of its own."]),
    ...(plan.isComplete && asksAgain
      ? ["The agent's steps are those of its last boot; a new ramdisk is asked again, and the plan is made again."]
      : []),
    ...(asksAgain ? warnOfEarlySteps(kind, steps) : []),
    ...(node.isFastTracked ? warnOfFastTrack(steps) : []),
    ...(steps.some(bootsRamdisk) ? warnOfRamdisk(node.unusedRamdisk) : []),
    ...warnOfRests(steps),
    ...warnOfLateResets(steps),
    ...(usesDisks && !inventoried
      ? ['The disks are not known: inspect or clean the node once to see what will be destroyed.']
      : []),
    ...(usesDisks && inventoried ? [`Disks as inventoried ${inventoried.toISOString()}.`] : []),
    ...(usesDisks && request.kind !== 'wipe' ? warnOfSpared(node.sparedDisks ?? []) : []),
    ...(node.fakesWipe && (request.kind === 'wipe' || request.wipe) ? [`The wipe is ${simulatedWipe}.`] : []),
    ...(request.kind === 'wipe' && node.owedWipe
      ? ['A requested wipe has not completed: until it has, it replaces cleaning.']
      : []),
    ...plan.destroys.warnings,
  ];
}

/** What is done before the ramdisk boots is done before its list of steps can be checked. */
function warnOfEarlySteps(kind: FlowKind, steps: readonly PlannedStep[]): string[] {
  const boot = steps.findIndex((step) => stepKey(step) === 'deploy.deploy');
  const early = steps.slice(0, Math.max(boot, 0)).filter((step) => step.origin !== 'core');
  if (!kind.inBand?.window || early.length === 0) return [];
  const { lowest, highest } = kind.inBand.window;
  return [
    `${early.map(stepKey).join(', ')}: done before the ramdisk boots and is asked for its steps. Should one of those ` +
      `be refused then (a priority outside ${lowest} to ${highest}, an unknown step), the deploy fails with these done.`,
  ];
}

function bootsRamdisk({ origin, step }: PlannedStep): boolean {
  return origin === 'core' && ['deploy', 'boot_ramdisk'].includes(step);
}

/** metal3 and others write them for Ironic, whose ramdisk they are. */
function warnOfRamdisk({ keys, fault, isRefused }: UnusedRamdisk = { keys: [] }): string[] {
  if (keys.length === 0) return [];
  if (fault !== undefined && isRefused) return [`No ramdisk is booted: ${fault}.`];
  const why = fault ?? 'with BATON_NODE_RAMDISKS=true the conductor boots deploy_kernel with deploy_ramdisk, over iPXE';
  return [`driver_info.${keys.join(', ')}: not booted, but Baton's own ramdisk (${why}).`];
}

function warnOfFastTrack(steps: readonly PlannedStep[]): string[] {
  const boots = steps.find(bootsRamdisk);
  if (!boots) return [];
  return [
    `Fast track: where the ramdisk of an earlier flow still runs, ${stepKey(boots)} boots nothing; that is one reboot ` +
      'less than is counted here, and less time.',
  ];
}

function warnOfSpared(spared: readonly SparedDisk[]): string[] {
  if (spared.length === 0) return [];
  const names = spared.map(({ serial, wwn }) => serial ?? wwn).join(', ');
  return [
    `A wipe has preserved ${names}: no step touches them until the next instance is released, but a wipe of all disks.`,
  ];
}

/** Out-of-band steps that reset the machine, or end by doing so. */
const resetting = /^(bios\.\w+|firmware\.update|raid\.\w+|power\.(reboot|power_off|rebooting))$/;

/** After the instance has been booted, a reset meets it amid its first start. */
function warnOfLateResets(steps: readonly PlannedStep[]): string[] {
  const boot = steps.findIndex((step) => step.origin === 'core' && stepKey(step) === 'deploy.boot_instance');
  if (boot === -1) return [];
  const late = steps.slice(boot + 1).filter((step) => step.origin !== 'core' && resetting.test(stepKey(step)));
  if (late.length === 0) return [];
  return [
    `${late.map(stepKey).join(', ')}: comes after deploy.boot_instance and resets the machine while its instance ` +
      'starts. A priority above 20 is before it.',
  ];
}

function warnOfRests(steps: readonly PlannedStep[]): string[] {
  const rests = [...new Set(steps.filter(takesAnyTime).map(stepKey))];
  return rests.length === 0 ? [] : [`The time that ${rests.join(', ')} takes is not included.`];
}
