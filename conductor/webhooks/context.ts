import type { KernelConfig, KernelContext } from '#conductor/kernel/context.ts';
import type { WebhookConfig } from '#conductor/webhooks/webhook-settings.ts';

export interface WebhooksConfig extends KernelConfig {
  readonly webhooks: WebhookConfig;
}

export interface WebhooksContext extends KernelContext {
  readonly config: WebhooksConfig;
}
