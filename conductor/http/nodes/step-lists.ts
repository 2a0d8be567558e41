import { z } from 'zod';
import { DeployStep, placeField } from '#conductor/api/templates.ts';
import { mostListed } from '#conductor/api/values.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import { useRunbook } from '#conductor/templates/runbook.ts';
import { boundedList } from '#shared/bounded-list.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Lists of steps in requests (agent-protocol.md §5.3). */

/** Their order is that of the priorities. */
const deploySteps = boundedList(z.array(DeployStep), mostListed);

const noChildren = 'must be false or absent: steps on the children of a node are not supported';
const OrderedStep = DeployStep.omit({ priority: true }).extend({
  args: DeployStep.shape.args.default({}),
  /** Order of a runbook's steps, which clients copy with it; the list has that order already. */
  order: placeField.nullish(),
  execute_on_child_nodes: z.literal(false, { error: noChildren }).nullish(),
  limit_child_node_execution: z.array(z.string(), { error: 'must be a list' }).max(0, noChildren).nullish(),
});

/** Manual cleaning and service: the order is the list's. */
const orderedSteps = boundedList(z.array(OrderedStep).min(1, 'must have at least one step'), mostListed)
  .superRefine((steps, context) => {
    const orders = steps.flatMap(({ order }) => order ?? []);
    const isSorted = orders.every((order, index) => index === 0 || order >= (orders[index - 1] ?? 0));
    if (!isSorted) {
      context.addIssue({
        code: 'custom',
        message: `the steps run in the order of the list, so that order (${orders.join(', ')}) must not fall`,
      });
    }
  })
  .transform((steps) =>
    steps.map(({ interface: stepInterface, step, args }) => ({ interface: stepInterface, step, args })),
  );

export const stepLists = {
  deploy_steps: deploySteps.nullish(),
  clean_steps: orderedSteps.nullish(),
  service_steps: orderedSteps.nullish(),
  disable_ramdisk: z.boolean().nullish(),
  runbook: z.string().min(1, 'must be the name or UUID of a runbook').nullish(),
};
type StepLists = z.infer<z.ZodObject<typeof stepLists>>;

/**
 * Reads the steps that the request or its runbook lists.
 * @throws AppError `invalid_argument` for both at once, what `useRunbook` throws.
 */
export async function requestedSteps(
  context: Pick<HttpContext, 'db' | 'secrets'>,
  body: StepLists,
  { nodeUuid, ...asking }: { readonly nodeUuid: string; readonly caller: Caller; readonly version: number },
): Promise<{ readonly steps: readonly RequestedStep[]; readonly disableRamdisk: boolean | undefined }> {
  if (body.runbook) {
    const others = (['clean_steps', 'service_steps', 'disable_ramdisk'] as const).filter((key) => body[key] != null);
    if (others.length > 0)
      throw new AppError('invalid_argument', `runbook: it brings its own ${others.join(', ')}; give one of them.`);
    return useRunbook(context, body.runbook, nodeUuid, asking);
  }
  const disableRamdisk = body.disable_ramdisk ?? undefined;
  if (body.deploy_steps) return { steps: body.deploy_steps, disableRamdisk };
  const listed = body.clean_steps ?? body.service_steps ?? [];
  return { steps: listed.map((step) => ({ ...step, priority: 0 })), disableRamdisk };
}
