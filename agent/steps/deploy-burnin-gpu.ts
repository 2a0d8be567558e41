import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Offered, so that a hardware manager for GPUs has a step to take over, and who asks learns why it is not done. */
export const burninGpu = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_gpu',
  priorities: { clean: 0, service: 0 },
  destroys: 'none',
  description: 'Needs a hardware manager that has the drivers of the GPU',
  abortable: true,
  args: z.strictObject({}),
  run: () =>
    Promise.reject(
      new AppError(
        'not_supported',
        "this ramdisk has no GPU drivers: add a hardware manager with a burnin_gpu step to image-build's recipe",
      ),
    ),
});
