import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { burnInDisks } from '#agent/burnin/burn-in-disks.ts';
import { burnInNetwork } from '#agent/burnin/burn-in-network.ts';
import { chooseMegabytes, readAvailableBytes, stress } from '#agent/burnin/stressapptest.ts';
import type { AgentContext } from '#agent/context.ts';
import {
  readCpuSettings,
  readDiskSettings,
  readMemorySettings,
  readNetworkSettings,
} from '#shared/in-band/burnin-settings.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Fits into the processors' caches: they, and not the memory, are what limits it. */
const megabytesPerWorker = 4;

const burninCpu = defineStep<AgentContext, Record<string, never>>({
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

const burninMemory = defineStep<AgentContext, Record<string, never>>({
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

const burninDisk = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_disk',
  priorities: { clean: 0 },
  destroys: 'all',
  description:
    'Writes all disks full and compares, their data is lost (driver_info agent_burnin_fio_disk_loops, _runtime, _smart_test)',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await burnInDisks(context, readDiskSettings(context.node)) }),
});

const burninNetwork = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_network',
  priorities: { clean: 0, service: 0 },
  destroys: 'none',
  description:
    'Exchanges data with another node and compares (driver_info agent_burnin_fio_network_config {role, partner}, _runtime)',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => {
    const result = await burnInNetwork(context, readNetworkSettings(context.node));
    const { partner, sentBytes: sent_bytes, receivedBytes: received_bytes } = result;
    return { kind: 'done', output: { partner, sent_bytes, received_bytes } };
  },
});

export const burninSteps = [burninCpu, burninMemory, burninDisk, burninNetwork] as const;
