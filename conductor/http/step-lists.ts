import { z } from 'zod';
import { DeployStep } from '#conductor/deploy-templates/template-fields.ts';
import type { RequestedStep } from '#conductor/flows/planned-step.ts';

/** Lists of steps in requests (agent-protocol.md §5.3). */

/** Their order is that of the priorities. */
const deploySteps = z.array(DeployStep);

/** Manual cleaning and service: the order is the list's. */
const orderedSteps = z
  .array(DeployStep.omit({ priority: true }).extend({ args: DeployStep.shape.args.default({}) }))
  .min(1, 'must have at least one step');

export const stepLists = {
  deploy_steps: deploySteps.nullish(),
  clean_steps: orderedSteps.nullish(),
  service_steps: orderedSteps.nullish(),
  disable_ramdisk: z.boolean().nullish(),
};
type StepLists = z.infer<z.ZodObject<typeof stepLists>>;

/** The one list that the request has. */
export function requestedSteps(body: StepLists): RequestedStep[] {
  if (body.deploy_steps) return body.deploy_steps;
  return (body.clean_steps ?? body.service_steps ?? []).map((step) => ({ ...step, priority: 0 }));
}
