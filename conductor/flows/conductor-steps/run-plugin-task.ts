import { checkAgentStep, startAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { type ConductorStep, stepArgs } from '#conductor/flows/step-context.ts';
import { getPlugin } from '#conductor/sites/plugins/plugin-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { pluginTaskStep } from '#shared/wire/plugin-task.ts';

export const runPluginTask: ConductorStep = {
  ...pluginTaskStep,
  description: "Has the agent run a shell task of a site's plugin, in the ramdisk or in the deployed system.",
  run: async (context) => {
    const { plugin } = context.step;
    if (!plugin) throw new AppError('internal', `step ${context.step.uuid} says of no plugin whose task it is`);
    // read when they are sent, and kept in no plan: a site has as many steps of a plugin as it has nodes
    const { files } = await context.ask(getPlugin(context.db, { name: plugin.plugin, version: plugin.version }));
    return startAgentStep(context, {
      ...stepArgs(context),
      node_name: context.node.name ?? '',
      plugin_files: files,
    });
  },
  resume: checkAgentStep,
};
