import { z } from 'zod';
import type { RequestedStep } from '#conductor/flows/planned-step.ts';
import { stepInterfaces } from '#shared/wire/step.ts';

/** Lists of steps in requests (agent-protocol.md §5.3). */

const stepInterface = z.enum(stepInterfaces, { error: `must be one of ${stepInterfaces.join(', ')}` });
const stepArgs = z.record(z.string(), z.unknown());
const priority = z.union([z.number().int().min(0), z.string().regex(/^\d+$/).transform(Number)], {
  error: 'must be an integer of 0 or more',
});

/** Their order is that of the priorities. */
const deploySteps = z.array(
  z.strictObject({ interface: stepInterface, step: z.string().min(1), args: stepArgs, priority }),
);

/** Manual cleaning and service: the order is the list's. */
const orderedSteps = z
  .array(z.strictObject({ interface: stepInterface, step: z.string().min(1), args: stepArgs.default({}) }))
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
