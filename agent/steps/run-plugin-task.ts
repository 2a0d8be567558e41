import type { AgentContext } from '#agent/context.ts';
import { runPluginTask } from '#agent/plugin/run-plugin-task.ts';
import { defineStep } from '#shared/steps/define-step.ts';
import { PluginTaskArgs, pluginTaskStep } from '#shared/wire/step.ts';

/** A shell task of a plugin (seed 002): before the image in the ramdisk, after the boot loader in the deployed system. */
export const runPluginTaskStep = defineStep<AgentContext, PluginTaskArgs>({
  ...pluginTaskStep,
  priorities: { deploy: 0 },
  destroys: 'unknown',
  description: "Runs a plugin's shell command, in the ramdisk or in the deployed system",
  args: PluginTaskArgs,
  run: runPluginTask,
});
