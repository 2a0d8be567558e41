import { randomUUID } from 'node:crypto';
import type { Agent } from 'undici';
import type { WebhookDeliveryRow, WebhookRow } from '#conductor/kernel/db/schema/webhook.ts';
import { countDatabaseFault } from '#conductor/kernel/metrics/metrics.ts';
import { webhookChannel } from '#conductor/kernel/outbox.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { startWakeLoop } from '#conductor/kernel/wake-loop.ts';
import {
  claimDeliveries,
  type DeliveryOutcome,
  listDueWebhooks,
  recordDelivery,
  releaseStaleDeliveries,
} from '#conductor/webhooks/claim-deliveries.ts';
import { webhookHeaders } from '#conductor/webhooks/sign.ts';
import type { WebhooksContext } from '#conductor/webhooks/webhook-settings.ts';
import { getWebhook, secretPlace } from '#conductor/webhooks/webhook-store.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { checkOutboundUrl, type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';
import { backOffMs } from '#shared/retry.ts';

/** Deliveries to one webhook at the same time, of different nodes. */
const concurrency = 8;
/** When no notification says so. */
const periodMs = 2_000;

/** Returns the seconds until the next try: 2, 4 … up to ten minutes, each varied a little. */
export function backOffSeconds(attempts: number, random: number = Math.random()): number {
  return backOffMs({ firstMs: 2000, mostMs: 600_000, spread: [0.75, 1.25], random: () => random }, attempts) / 1000;
}

export interface WebhookDeliverer extends SendContext {
  stop(): Promise<void>;
}

/** Empties the outbox until `stop`, together with all other conductors. One slow webhook holds up no other. */
export async function startWebhookDeliverer(
  context: Pick<WebhooksContext, 'db' | 'database' | 'config' | 'secrets' | 'log' | 'metrics' | 'clock'>,
): Promise<WebhookDeliverer> {
  const { config, log, metrics } = context;
  const rules = config.webhooks.outbound;
  const agent = outboundAgent(rules, { keepAliveTimeout: 10_000, connect: { timeout: 5_000 } });
  const sending = { secrets: context.secrets, rules, agent };
  /** By webhook, as long as it is being delivered to. */
  const busy = new Map<string, Promise<void>>();

  const onError = (error: unknown): number => {
    countDatabaseFault(metrics, error);
    log.error({ err: error }, 'webhooks could not be delivered; retrying');
    return periodMs;
  };
  await releaseStaleDeliveries(context.db, config.conductorName);
  const loop = startWakeLoop({
    run: async ({ signal }) => {
      for (const uuid of await listDueWebhooks(context.db)) {
        if (busy.has(uuid) || signal.aborted) continue;
        const job = empty(context, sending, uuid, signal)
          .catch((error: unknown) => void onError(error))
          .finally(() => busy.delete(uuid));
        busy.set(uuid, job);
      }
      return periodMs;
    },
    onError,
  });
  await context.database.listen(webhookChannel, () => loop.nudge());
  return {
    ...sending,
    stop: async () => {
      await loop.stop();
      await Promise.all(busy.values());
      await agent.close();
    },
  };
}

type DeliverContext = Pick<WebhooksContext, 'db' | 'config' | 'log' | 'metrics' | 'clock'>;

/** Delivers what is due for one webhook. */
async function empty(
  context: DeliverContext,
  sending: SendContext,
  webhookUuid: string,
  stop: AbortSignal,
): Promise<void> {
  const worker = async (): Promise<void> => {
    while (!stop.aborted) {
      const [delivery] = await claimDeliveries(context.db, context.config.conductorName, webhookUuid, 1);
      if (!delivery) return;
      const webhook = await getWebhook(context.db, webhookUuid);
      await deliver(context, sending, webhook, delivery);
    }
  };
  try {
    const [first, ...others] = await claimDeliveries(
      context.db,
      context.config.conductorName,
      webhookUuid,
      concurrency,
    );
    if (!first) return;
    const webhook = await getWebhook(context.db, webhookUuid);
    await Promise.all(
      [first, ...others].map(async (delivery) => {
        await deliver(context, sending, webhook, delivery);
        await worker();
      }),
    );
  } catch (error) {
    // deleted meanwhile, with what was to be delivered
    if (errorCode(error) !== 'not_found') throw error;
  }
}

async function deliver(
  { db, config, log, metrics, clock }: DeliverContext,
  sending: SendContext,
  webhook: WebhookRow,
  delivery: WebhookDeliveryRow,
): Promise<void> {
  const outcome = await sendEvent(sending, webhook, { id: delivery.eventId, body: delivery.body });
  const about = {
    webhook: webhook.name,
    event: delivery.eventId,
    type: delivery.eventType,
    attempts: delivery.attempts,
  };
  if (outcome.error === undefined) {
    metrics.webhookDeliveries.inc({ outcome: 'delivered' });
    log.debug(about, 'webhook delivered');
    await recordDelivery(db, delivery, outcome, { state: 'delivered' });
    return;
  }
  const isGivenUp = clock.now().getTime() - delivery.createdAt.getTime() >= config.webhooks.giveUpMs;
  metrics.webhookDeliveries.inc({ outcome: isGivenUp ? 'given_up' : 'failed' });
  log.warn({ ...about, reason: outcome.error }, isGivenUp ? 'webhook given up' : 'webhook not delivered');
  await recordDelivery(
    db,
    delivery,
    outcome,
    isGivenUp ? { state: 'given up' } : { state: 'pending', afterSeconds: backOffSeconds(delivery.attempts) },
  );
}

interface SendContext {
  readonly secrets: Secrets;
  readonly rules: OutboundRules;
  readonly agent: Agent;
}

/**
 * Posts one event to a webhook. Redirects are not followed, and nothing of the answer but its status is kept: a webhook
 * that leads to a service of the inside must not reveal what that says.
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
