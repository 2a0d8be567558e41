import { checkAgentStep, resumeAgentStep, sendAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { type ConductorStep, stepArgs } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { pluginTaskStep } from '#shared/wire/plugin-task.ts';

export const runPluginTask: ConductorStep = {
  ...pluginTaskStep,
  description: "Has the agent run a shell task of a site's plugin.",
  run: async (context) => {
    const { plugin } = context.step;
    if (!plugin) throw new AppError('internal', `step ${context.step.uuid} says of no plugin whose task it is`);
    const started = await resumeAgentStep(context);
    if (started) return started;
    // read when they are sent, and kept in no plan: a site has as many steps of a plugin as it has nodes
    return context.pluginFiles.take(context.signal, async (read) =>
      sendAgentStep(context, {
        ...stepArgs(context),
        node_name: context.node.name ?? '',
        plugin_files: await context.ask(read(plugin)),
      }),
    );
  },
  resume: checkAgentStep,
};
