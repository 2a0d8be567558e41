import { randomUUID } from 'node:crypto';
import type { Agent } from 'undici';
import type { WebhookRow } from '#conductor/kernel/db/schema/webhook.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { DeliveryOutcome } from '#conductor/webhooks/claim-deliveries.ts';
import { webhookHeaders } from '#conductor/webhooks/sign.ts';
import { secretPlace } from '#conductor/webhooks/webhook-store.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';

export interface SendContext {
  readonly secrets: Secrets;
  readonly rules: OutboundRules;
  readonly agent: Agent;
}

/**
 * Posts one event to a webhook. Redirects are not followed, and nothing of the answer but its status is kept: a webhook
 * that leads to a service of the inside must not tell what that says.
 */
export async function sendEvent(
  { secrets, rules, agent }: SendContext,
  webhook: Pick<WebhookRow, 'uuid' | 'url' | 'secret'>,
  event: { readonly id: string; readonly body: Readonly<Record<string, unknown>> },
): Promise<DeliveryOutcome> {
  try {
    const url = checkOutboundUrl('url', webhook.url, rules);
    const secret = secrets.open(webhook.secret, secretPlace(webhook.uuid));
    const body = JSON.stringify(event.body);
    const status = await askPeerForStatus('webhook', url, {
      who: 'the receiver',
      dispatcher: agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'baton-webhook',
        ...webhookHeaders(secret, { id: event.id, at: new Date(), body }),
      },
      body,
    });
    return { status, error: status >= 200 && status < 300 ? undefined : `answered ${status}` };
  } catch (error) {
    return { status: null, error: errorChain(error) };
  }
}

/** Tries the webhook once; nothing of it is kept. */
export function sendTestEvent(
  context: SendContext,
  webhook: Pick<WebhookRow, 'uuid' | 'url' | 'secret'>,
): Promise<DeliveryOutcome> {
  const id = randomUUID();
  const body = { type: 'webhook.test', timestamp: new Date().toISOString(), event_id: id, data: {} };
  return sendEvent(context, webhook, { id, body });
}
