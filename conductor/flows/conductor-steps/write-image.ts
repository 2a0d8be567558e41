import { checkAgentStep, startAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { buildImageInfo } from '#conductor/nodes/image-info.ts';
import { readConfigDrive } from '#conductor/nodes/node-store.ts';

export const writeImage: ConductorStep = {
  interface: 'deploy',
  step: 'write_image',
  description: "Has the agent write the instance's image and config drive to the root disk.",
  run: async (context) => {
    const configdrive = (await context.ask(readConfigDrive(context.db, context.node.uuid))) ?? null;
    return startAgentStep(context, { image_info: buildImageInfo(context.node), configdrive });
  },
  resume: checkAgentStep,
};
