import { z } from 'zod';
import { burnInNetwork } from '#agent/burnin/burn-in-network.ts';
import { readNetworkSettings } from '#agent/burnin/burnin-settings.ts';
import type { AgentContext } from '#agent/context.ts';
import { defineStep } from '#shared/steps/define-step.ts';

export const burninNetwork = defineStep<AgentContext, Record<string, never>>({
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
