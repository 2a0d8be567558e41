import { removeEtcd, waitForEtcd } from '#conductor/cluster-steps/etcd-steps.ts';
import {
  clearNodeLabels,
  drain,
  removeNodeFromCluster,
  shutDownKubelet,
} from '#conductor/cluster-steps/kubernetes-steps.ts';
import { waitForAnswers, waitForMembers, waitUntilReady } from '#conductor/cluster-steps/service-steps.ts';
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
import { runPluginTask } from '#conductor/flows/conductor-steps/run-plugin-task.ts';
import { signReceipt } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import { switchToTenantNetwork } from '#conductor/flows/conductor-steps/switch-to-tenant-network.ts';
import { tearDownAgent } from '#conductor/flows/conductor-steps/tear-down-agent.ts';
import { verifyPower } from '#conductor/flows/conductor-steps/verify-power.ts';
import { waitStep } from '#conductor/flows/conductor-steps/wait.ts';
import { wipeDisks } from '#conductor/flows/conductor-steps/wipe-disks.ts';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

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
  waitUntilReady,
  waitForMembers,
  waitForAnswers,
];
