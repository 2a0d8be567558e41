import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { readCpuSettings } from '#agent/burnin/burnin-settings.ts';
import { stress } from '#agent/burnin/stressapptest.ts';
import type { AgentContext } from '#agent/context.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Fits into the processors' caches: they, and not the memory, are what limits it. */
const megabytesPerWorker = 4;

export const burninCpu = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_cpu',
  priorities: { clean: 0, service: 0 },
  destroys: 'none',
  description: 'Loads all processors and checks their results (driver_info agent_burnin_cpu_timeout, _cpu)',
  abortable: true,
  args: z.strictObject({}),
  run: async ({ run, node, signal, reportProgress }) => {
    const { seconds, workers } = readCpuSettings(node);
    const threads = workers || availableParallelism();
    reportProgress({ phase: `burning in ${threads} processors for ${seconds} s` });
    const megabytes = Math.max(16, threads * megabytesPerWorker);
    return { kind: 'done', output: await stress(run, { seconds, megabytes, threads, cpu: true }, signal) };
  },
});
