import { z } from 'zod';
import type { KernelConfig, KernelContext } from '#conductor/kernel/context.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { isLoopbackHost } from '#shared/peers/address-ranges.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

/** Settings of webhooks; part of the conductor's environment (`environment.ts`). */
export const webhookEnvironment = {
  BATON_WEBHOOK_URL_ALLOW: z.string().default('').describe('where webhooks may lead, as `BATON_IMAGE_URL_ALLOW`'),
  BATON_WEBHOOK_GIVE_UP: z.coerce
    .number()
    .positive()
    .default(86_400)
    .describe('seconds after which an event that its webhook does not take is given up'),
} as const;
type WebhookEnvironment = z.infer<z.ZodObject<typeof webhookEnvironment>>;

interface WebhookConfig {
  readonly giveUpMs: number;
  readonly outbound: OutboundRules;
}

/** @returns what is wrong with the settings, one line each. */
export function webhookProblems(env: WebhookEnvironment): string[] {
  try {
    parseOutboundAllowList(env.BATON_WEBHOOK_URL_ALLOW);
    return [];
  } catch (error) {
    return [`BATON_WEBHOOK_URL_ALLOW: ${errorChain(error)}`];
  }
}

/** Reads the configuration from settings without problems. */
export function readWebhookConfig(env: WebhookEnvironment & { readonly BATON_HOST: string }): WebhookConfig {
  const list = env.BATON_WEBHOOK_URL_ALLOW;
  return {
    giveUpMs: env.BATON_WEBHOOK_GIVE_UP * 1000,
    outbound: {
      setting: 'BATON_WEBHOOK_URL_ALLOW',
      allow: list.trim() === '' ? undefined : parseOutboundAllowList(list),
      // a conductor on loopback is a laboratory
      allowLoopback: isLoopbackHost(env.BATON_HOST),
      connectsHere: true,
    },
  };
}

export interface WebhooksConfig extends KernelConfig {
  readonly webhooks: WebhookConfig;
}

export interface WebhooksContext extends KernelContext {
  readonly config: WebhooksConfig;
}
