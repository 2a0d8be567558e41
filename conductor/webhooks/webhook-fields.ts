import { z } from 'zod';
import type { WebhookAnswer, WebhookDeliveryAnswer } from '#conductor/api/records.ts';
import type { WebhookDeliveryRow, WebhookRow } from '#conductor/kernel/db/schema/webhook.ts';
import { webhookEventFilters } from '#conductor/kernel/outbox.ts';
import { mask } from '#conductor/kernel/secrets/mask-document.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { webhookSecretFault } from '#conductor/webhooks/sign.ts';

/** What an operator writes of a webhook. */
export const WebhookDescription = z.strictObject({
  name: z.string().regex(/^[\w.-]{1,255}$/, 'must be 1 to 255 letters, digits, dots, dashes or underscores'),
  url: z.string().max(2048, 'must have 2048 characters at most'),
  events: z
    .array(
      z.string().refine((filter) => webhookEventFilters.includes(filter), {
        error: `must be of ${webhookEventFilters.join(', ')}`,
      }),
    )
    .default([]),
  secret: z
    .string()
    .superRefine((secret, context) => {
      const fault = secret === mask ? undefined : webhookSecretFault(secret);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .optional(),
  project: z.string().min(1).max(255).nullable().default(null),
});
export type WebhookDescription = z.infer<typeof WebhookDescription>;

export function viewWebhook(webhook: WebhookRow, origin: string): WebhookAnswer {
  const { uuid, name, url, events, project, createdBy, createdAt, updatedAt } = webhook;
  return {
    uuid,
    name,
    url,
    events,
    secret: mask,
    project,
    created_by: createdBy,
    created_at: apiTime(createdAt),
    updated_at: updatedAt ? apiTime(updatedAt) : null,
    links: [{ href: `${origin}/v1/webhooks/${uuid}`, rel: 'self' }],
  };
}

export function viewDelivery(delivery: WebhookDeliveryRow): WebhookDeliveryAnswer {
  const { id, eventId, eventType, subject, body, state, attempts, lastStatus, lastError } = delivery;
  return {
    id,
    event_id: eventId,
    event_type: eventType,
    subject,
    state,
    attempts,
    last_status: lastStatus,
    last_error: lastError,
    next_attempt_at: state === 'pending' ? apiTime(delivery.nextAttemptAt) : null,
    created_at: apiTime(delivery.createdAt),
    ended_at: delivery.endedAt ? apiTime(delivery.endedAt) : null,
    body,
  };
}
