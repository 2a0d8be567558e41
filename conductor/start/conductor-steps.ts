import { removeEtcd, waitForEtcd } from '#conductor/cluster-steps/etcd-steps.ts';
import {
  clearNodeLabels,
  drainClusterStep,
  removeNodeFromCluster,
  shutDownKubelet,
} from '#conductor/cluster-steps/kubernetes-steps.ts';
import { restartIfSilent } from '#conductor/cluster-steps/restart-if-silent.ts';
import { waitForAnswers, waitForMembers, waitUntilReady } from '#conductor/cluster-steps/service-steps.ts';
import { bootInstance } from '#conductor/flows/conductor-steps/boot-instance.ts';
import { bootRamdisk, deployConductorStep } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import { bringBackInstance } from '#conductor/flows/conductor-steps/bring-back-instance.ts';
import { finalizeRescue } from '#conductor/flows/conductor-steps/finalize-rescue.ts';
import { gatherSteps } from '#conductor/flows/conductor-steps/gather-steps.ts';
import { holdStep, waitStep } from '#conductor/flows/conductor-steps/hold-and-wait.ts';
import { collectInventory, readMachine } from '#conductor/flows/conductor-steps/inspect-machine.ts';
import { collectLogs, tearDownAgent } from '#conductor/flows/conductor-steps/leave-ramdisk.ts';
import { powerOff, verifyPower } from '#conductor/flows/conductor-steps/power.ts';
import { powerOn, rebootRamdisk, rebootStep } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { prepareInstanceBoot } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { oweWipe, releaseInstance } from '#conductor/flows/conductor-steps/release-instance.ts';
import { runPluginTask } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { signReceipt } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import { leaveNetwork, switchToTenantNetwork } from '#conductor/flows/conductor-steps/switch-networks.ts';
import { wipeDisks } from '#conductor/flows/conductor-steps/wipe-disks.ts';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import { fakeDeploy } from '#conductor/flows/log/fakes-flow.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

/** Every step that the conductor knows how to run; a test compares the table with the folder. */
export const conductorSteps: readonly ConductorStep[] = [
  deployConductorStep,
  bootRamdisk,
  fakeDeploy,
  writeImage,
  wipeDisks,
  runPluginTask,
  prepareInstanceBoot,
  tearDownAgent,
  switchToTenantNetwork,
  bootInstance,
  bringBackInstance,
  rebootRamdisk,
  gatherSteps,
  finalizeRescue,
  collectInventory,
  readMachine,
  collectLogs,
  leaveNetwork,
  releaseInstance,
  oweWipe,
  signReceipt,
  powerOff,
  powerOn,
  rebootStep,
  holdStep,
  waitStep,
  verifyPower,
  drainClusterStep,
  clearNodeLabels,
  removeEtcd,
  waitForEtcd,
  shutDownKubelet,
  removeNodeFromCluster,
  waitUntilReady,
  waitForMembers,
  restartIfSilent,
  waitForAnswers,
];
