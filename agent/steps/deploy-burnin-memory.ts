import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { readMemorySettings } from '#agent/burnin/burnin-settings.ts';
import { chooseMegabytes, readAvailableBytes } from '#agent/burnin/free-memory.ts';
import { stress } from '#agent/burnin/stressapptest.ts';
import type { AgentContext } from '#agent/context.ts';
import { defineStep } from '#shared/steps/define-step.ts';

export const burninMemory = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_memory',
  priorities: { clean: 0, service: 0 },
  destroys: 'none',
  description: 'Copies and compares all free memory (driver_info agent_burnin_vm_timeout, _vm, _vm-bytes)',
  abortable: true,
  args: z.strictObject({}),
  run: async ({ run, node, signal, reportProgress }) => {
    const { seconds, workers, amount } = readMemorySettings(node);
    const megabytes = chooseMegabytes(await readAvailableBytes(), amount);
    const threads = workers || availableParallelism();
    reportProgress({ phase: `burning in ${megabytes} MiB of memory for ${seconds} s` });
    return { kind: 'done', output: await stress(run, { seconds, megabytes, threads, cpu: false }, signal) };
  },
});
