import { removeEtcd, waitForEtcd } from '#conductor/cluster-steps/etcd-steps.ts';
import {
  clearNodeLabels,
  drain,
  removeNodeFromCluster,
  shutDownKubelet,
} from '#conductor/cluster-steps/kubernetes-steps.ts';
import { bootInstance } from '#conductor/flows/conductor-steps/boot-instance.ts';
import { bootRamdisk, deploy } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import { collectLogs } from '#conductor/flows/conductor-steps/collect-logs.ts';
import { fakeDeploy } from '#conductor/flows/conductor-steps/fake-deploy.ts';
import { finalizeRescue } from '#conductor/flows/conductor-steps/finalize-rescue.ts';
import { gatherSteps } from '#conductor/flows/conductor-steps/gather-steps.ts';
import { hold } from '#conductor/flows/conductor-steps/hold.ts';
import { collectInventory } from '#conductor/flows/conductor-steps/inspect-collect-inventory.ts';
import { leaveNetwork } from '#conductor/flows/conductor-steps/leave-network.ts';
import { oweWipe } from '#conductor/flows/conductor-steps/owe-wipe.ts';
import { powerOff } from '#conductor/flows/conductor-steps/power-off.ts';
import { prepareInstanceBoot } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { rebootRamdisk } from '#conductor/flows/conductor-steps/reboot-ramdisk.ts';
import { releaseInstance } from '#conductor/flows/conductor-steps/release-instance.ts';
import { powerOn, reboot } from '#conductor/flows/conductor-steps/requested-power.ts';
import { runAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { runPluginTask } from '#conductor/flows/conductor-steps/run-plugin-task.ts';
import { signReceipt } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import { switchToTenantNetwork } from '#conductor/flows/conductor-steps/switch-to-tenant-network.ts';
import { tearDownAgent } from '#conductor/flows/conductor-steps/tear-down-agent.ts';
import { verifyPower } from '#conductor/flows/conductor-steps/verify-power.ts';
import { waitStep } from '#conductor/flows/conductor-steps/wait.ts';
import { wipeDisks } from '#conductor/flows/conductor-steps/wipe-disks.ts';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import { driverSteps } from '#conductor/flows/driver-steps/index.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { FlowKind } from '#conductor/model/flow-kinds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Every step that the conductor knows how to run; a test compares the table with the folder. */
export const conductorSteps: readonly ConductorStep[] = [
  deploy,
  bootRamdisk,
  fakeDeploy,
  writeImage,
  wipeDisks,
  runPluginTask,
  prepareInstanceBoot,
  tearDownAgent,
  switchToTenantNetwork,
  bootInstance,
  rebootRamdisk,
  gatherSteps,
  finalizeRescue,
  collectInventory,
  collectLogs,
  leaveNetwork,
  releaseInstance,
  oweWipe,
  signReceipt,
  powerOff,
  powerOn,
  reboot,
  hold,
  waitStep,
  verifyPower,
  drain,
  clearNodeLabels,
  removeEtcd,
  waitForEtcd,
  shutDownKubelet,
  removeNodeFromCluster,
];

type NamedStep = Pick<FlowStepRow, 'interface' | 'step' | 'inBand' | 'origin'>;

/**
 * What runs a flow's step: a row of the table, or the agent.
 * @throws AppError `not_supported` for one that a conductor of another release has planned.
 */
export function conductorStep(step: NamedStep, kind: FlowKind): Pick<ConductorStep, 'run' | 'resume'> {
  const found = findConductorStep(step, kind);
  if (found) return found;
  throw new AppError('not_supported', `this conductor's release knows no step ${step.interface}.${step.step}`);
}

/** Whether this release knows what runs the step. */
export function knowsStep(step: NamedStep, kind: FlowKind): boolean {
  return findConductorStep(step, kind) !== undefined;
}

function findConductorStep(step: NamedStep, kind: FlowKind): Pick<ConductorStep, 'run' | 'resume'> | undefined {
  const isIt = (each: ConductorStep): boolean => each.interface === step.interface && each.step === step.step;
  const known = conductorSteps.find(isIt) ?? (step.inBand ? undefined : driverSteps.find(isIt));
  // an agent may call its steps as it likes: in a list of its own, `write_image` is the agent's
  const isOurs =
    !step.inBand ||
    step.origin === 'core' ||
    (step.origin === 'plugin' && known === runPluginTask) ||
    [...kind.sorted, ...kind.opening].some((each) => each.step === step.step);
  if (known && isOurs) return known;
  // a core step has a part of the conductor's own: the agent alone can't do it
  return step.inBand && step.origin !== 'core' ? runAgentStep : undefined;
}
