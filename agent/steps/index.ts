import type { AgentStep } from '#agent/context.ts';
import { biosSteps } from '#agent/steps/bios.ts';
import { burninSteps } from '#agent/steps/burnin.ts';
import { cleanUefiNvram } from '#agent/steps/clean-uefi-nvram.ts';
import { eraseSteps } from '#agent/steps/erase.ts';
import { injectFilesStep } from '#agent/steps/inject-files.ts';
import { raidSteps } from '#agent/steps/raid.ts';
import { runPluginTaskStep } from '#agent/steps/run-plugin-task.ts';
import { writeImageStep } from '#agent/steps/write-image.ts';

/** THE table of in-band steps: what the generic hardware manager offers. */
export const steps: readonly AgentStep[] = [
  ...biosSteps,
  ...burninSteps,
  cleanUefiNvram,
  ...eraseSteps,
  injectFilesStep,
  runPluginTaskStep,
  writeImageStep,
  ...raidSteps,
];
