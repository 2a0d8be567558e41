import { randomUUID } from 'node:crypto';
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  type WebhookDeliveryRow,
  type WebhookRow,
  webhookDeliveries,
  webhooks,
} from '#conductor/kernel/db/schema/webhook.ts';
import { mask } from '#conductor/kernel/secrets/mask-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { DeliveryState } from '#conductor/model/delivery-states.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { newWebhookSecret } from '#conductor/webhooks/sign.ts';
import type { WebhookDescription } from '#conductor/webhooks/webhook-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface StoreContext {
  readonly db: Queryable;
  readonly secrets: Secrets;
}

/** Where a webhook's secret belongs, as `Secrets` has it. */
export const secretPlace = (uuid: string): string => `webhook ${uuid} secret`;

export function listWebhooks(db: Queryable): Promise<WebhookRow[]> {
  return db.select().from(webhooks).orderBy(webhooks.id);
}

/** By UUID or name. @throws AppError `not_found`. */
export async function getWebhook(db: Queryable, ident: string): Promise<WebhookRow> {
  const isIt = isUuid(ident) ? eq(webhooks.uuid, ident.toLowerCase()) : eq(webhooks.name, ident);
  const [row] = await db.select().from(webhooks).where(isIt);
  if (!row) throw new AppError('not_found', `Webhook ${ident} could not be found.`);
  return row;
}

/**
 * Answers the row, and the secret in clear: nobody is told it again.
 * @throws AppError `conflict` for a duplicate name.
 */
export async function insertWebhook(
  { db, secrets }: StoreContext,
  { secret = newWebhookSecret(), ...description }: WebhookDescription,
  createdBy: string | undefined,
): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
  if (secret === mask)
    throw new AppError('invalid_argument', `secret: '${mask}' stands for one, and there is none yet`);
  const uuid = randomUUID();
  const sealed = secrets.seal(secret, secretPlace(uuid));
  await refusingDuplicates(
    () => db.insert(webhooks).values({ uuid, ...description, secret: sealed, createdBy: createdBy ?? null }),
    () => `A webhook with name ${description.name} already exists.`,
  );
  return { webhook: await getWebhook(db, uuid), secret };
}

/** A secret of `******` stays. @throws AppError `conflict` for a duplicate name. */
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

/** With what waits to be delivered to it. */
export async function deleteWebhook(db: Queryable, uuid: string): Promise<void> {
  await db.delete(webhooks).where(eq(webhooks.uuid, uuid));
}

/** Newest first. */
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
