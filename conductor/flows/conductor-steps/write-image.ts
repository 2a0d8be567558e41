import { checkAgentStep, startAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { buildImageInfo } from '#conductor/nodes/image-info.ts';
import { checkImageUrls } from '#conductor/nodes/image-urls.ts';
import { readConfigDrive } from '#conductor/nodes/node-store.ts';
import { openConfigDrive, openNodeDocument } from '#conductor/secrets/node-secrets.ts';

export const writeImage: ConductorStep = {
  interface: 'deploy',
  step: 'write_image',
  description: "Has the agent write the instance's image and config drive to the root disk.",
  run: async (context) => {
    const { node, secrets } = context;
    const sealed = await context.ask(readConfigDrive(context.db, node.uuid));
    const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
    // also what was patched in after the deploy was asked for
    checkImageUrls(instanceInfo, context.config.outbound.images);
    return startAgentStep(context, {
      image_info: buildImageInfo({ ...node, instanceInfo }),
      configdrive: openConfigDrive(secrets, node.uuid, sealed) ?? null,
    });
  },
  resume: checkAgentStep,
};
