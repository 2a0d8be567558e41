import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { erasePstore } from '#agent/erase/erase-pstore.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** What a crashed kernel left in the machine's non-volatile memory may hold a tenant's data. */
export const erasePstoreStep = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_pstore',
  priorities: { clean: 0 },
  destroys: 'none',
  description: "Removes what crashed kernels left in the machine's persistent store (/sys/fs/pstore)",
  abortable: false,
  args: z.strictObject({}),
  run: async ({ run }) => ({ kind: 'done', output: { removed: await erasePstore(run) } }),
});
