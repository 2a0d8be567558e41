import { randomUUID } from 'node:crypto';
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { WebhookAnswer, WebhookDeliveryAnswer } from '#conductor/api/records.ts';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookDeliveries,
  webhooks,
} from '#conductor/kernel/db/schema/webhook.ts';
import { webhookEventFilters } from '#conductor/kernel/outbox.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { DeliveryState } from '#conductor/model/site/transitions.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { newWebhookSecret, webhookSecretFault } from '#conductor/webhooks/sign.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { mask } from '#shared/secret-words.ts';

interface StoreContext {
  readonly db: Queryable;
  readonly secrets: Secrets;
}

/** Returns the place of a webhook's secret, in the form of `Secrets`. */
export const secretPlace = (uuid: string): string => `webhook ${uuid} secret`;

export function listWebhooks(db: Queryable): Promise<WebhookRow[]> {
  return db.select().from(webhooks).orderBy(webhooks.id);
}

/** Finds a webhook by UUID or name. @throws AppError `not_found`. */
export async function getWebhook(db: Queryable, ident: string): Promise<WebhookRow> {
  const isIt = isUuid(ident) ? eq(webhooks.uuid, ident.toLowerCase()) : eq(webhooks.name, ident);
  const [row] = await db.select().from(webhooks).where(isIt);
  if (!row) throw new AppError('not_found', `Webhook ${ident} could not be found.`);
  return row;
}

/**
 * Inserts a webhook. Answers its row, and its secret in clear, which is never shown again.
 * @throws AppError `conflict` for a duplicate name.
 */
export async function insertWebhook(
  { db, secrets }: StoreContext,
  { secret = newWebhookSecret(), ...description }: WebhookDescription,
  createdBy: string | undefined,
): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
  if (secret === mask)
    throw new AppError(
      'invalid_argument',
      `secret: '${mask}' stands for the stored secret, and a new webhook has none: give another text, or leave it out`,
    );
  const uuid = randomUUID();
  const sealed = secrets.seal(secret, secretPlace(uuid));
  await refusingDuplicates(
    () => db.insert(webhooks).values({ uuid, ...description, secret: sealed, createdBy: createdBy ?? null }),
    () => `A webhook with name ${description.name} already exists.`,
  );
  return { webhook: await getWebhook(db, uuid), secret };
}

/** Changes a webhook; a secret of `******` keeps the old one. @throws AppError `conflict` for a duplicate name. */
export async function updateWebhook(
  { db, secrets }: StoreContext,
  uuid: string,
  { secret, ...description }: WebhookDescription,
): Promise<WebhookRow> {
  const isNew = secret !== undefined && secret !== mask;
  const change = { ...description, ...(isNew ? { secret: secrets.seal(secret, secretPlace(uuid)) } : {}) };
  await refusingDuplicates(
    () =>
      db
        .update(webhooks)
        .set({ ...change, updatedAt: sql`now()` })
        .where(eq(webhooks.uuid, uuid)),
    () => `A webhook with name ${description.name} already exists.`,
  );
  return getWebhook(db, uuid);
}

/** Deletes a webhook, with all deliveries that wait for it. */
export async function deleteWebhook(db: Queryable, uuid: string): Promise<void> {
  await db.delete(webhooks).where(eq(webhooks.uuid, uuid));
}

/** Lists deliveries, newest first. */
export function listDeliveries(
  db: Queryable,
  webhookUuid: string,
  page: { readonly state: DeliveryState | undefined; readonly before: number | undefined; readonly limit: number },
): Promise<WebhookDeliveryRow[]> {
  return db
    .select()
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.webhookUuid, webhookUuid),
        page.state === undefined ? undefined : eq(webhookDeliveries.state, page.state),
        page.before === undefined ? undefined : lt(webhookDeliveries.id, page.before),
      ),
    )
    .orderBy(desc(webhookDeliveries.id))
    .limit(page.limit);
}

/** Description of a webhook, as an operator writes it. */
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
