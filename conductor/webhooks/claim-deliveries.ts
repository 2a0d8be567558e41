import { and, eq, inArray, lte, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type WebhookDeliveryRow, webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import { isFree, leaseExpiry } from '#conductor/kernel/lease.ts';
import { type DeliveryState, deliveryStates, statesBefore } from '#conductor/model/site/transitions.ts';

/** A conductor that lives and has not said within it what became of a delivery has lost it. */
const claimMs = 60_000;

/** Days for which ended deliveries are kept for those who look for a reason. */
const keptDays = { delivered: 1, 'given up': 7 } as const satisfies Partial<Record<DeliveryState, number>>;

const open = statesBefore(deliveryStates, 'delivered');
const isOpen = inArray(webhookDeliveries.state, open);

const isDue = and(
  isOpen,
  lte(webhookDeliveries.nextAttemptAt, sql`now()`),
  isFree({ expiresAt: webhookDeliveries.claimedUntil }),
);

/** Webhooks for which something may be delivered now. */
export async function listDueWebhooks(db: Queryable): Promise<string[]> {
  const rows = await db.selectDistinct({ uuid: webhookDeliveries.webhookUuid }).from(webhookDeliveries).where(isDue);
  return rows.map((row) => row.uuid);
}

/**
 * Takes the oldest deliveries of a webhook: of each node the first one only, for a node's events go in order, and none
 * that another conductor is at.
 */
export function claimDeliveries(
  db: Queryable,
  by: string,
  webhookUuid: string,
  limit: number,
): Promise<WebhookDeliveryRow[]> {
  const earlier = alias(webhookDeliveries, 'earlier');
  const isFirst = sql`not exists (${db
    .select({ one: sql`1` })
    .from(earlier)
    .where(
      and(
        eq(earlier.webhookUuid, webhookDeliveries.webhookUuid),
        eq(earlier.subject, webhookDeliveries.subject),
        inArray(earlier.state, open),
        sql`${earlier.id} < ${webhookDeliveries.id}`,
      ),
    )})`;
  const first = db
    .select({ id: webhookDeliveries.id })
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.webhookUuid, webhookUuid), isDue, isFirst))
    .orderBy(webhookDeliveries.id)
    .limit(limit)
    .for('update', { skipLocked: true });
  return db
    .update(webhookDeliveries)
    .set({
      claimedUntil: leaseExpiry(claimMs),
      claimedBy: by,
      attempts: sql`${webhookDeliveries.attempts} + 1`,
    })
    .where(inArray(webhookDeliveries.id, first))
    .returning();
}

/** Releases, at start, deliveries that this conductor's earlier process was making: they are tried again at once. */
export async function releaseStaleDeliveries(db: Queryable, conductor: string): Promise<void> {
  await db.update(webhookDeliveries).set({ claimedUntil: null }).where(eq(webhookDeliveries.claimedBy, conductor));
}

export interface DeliveryOutcome {
  readonly status: number | null;
  /** `undefined` = taken. */
  readonly error: string | undefined;
}

/** Records what became of a claimed delivery, unless it has been claimed again meanwhile. */
export async function recordDelivery(
  db: Queryable,
  delivery: WebhookDeliveryRow,
  outcome: DeliveryOutcome,
  next: { readonly state: 'delivered' | 'given up' } | { readonly state: 'pending'; readonly afterSeconds: number },
): Promise<void> {
  await db
    .update(webhookDeliveries)
    .set({
      state: next.state,
      claimedUntil: null,
      claimedBy: null,
      lastStatus: outcome.status,
      lastError: outcome.error ?? null,
      ...(next.state === 'pending'
        ? { nextAttemptAt: leaseExpiry(1000 * next.afterSeconds) }
        : { endedAt: sql`now()` }),
    })
    .where(and(eq(webhookDeliveries.id, delivery.id), isOpen, eq(webhookDeliveries.attempts, delivery.attempts)));
}

/** Deletes what ended long ago. */
export async function pruneDeliveries({ db }: { readonly db: Queryable }): Promise<void> {
  for (const [state, days] of Object.entries(keptDays)) {
    await db
      .delete(webhookDeliveries)
      .where(
        and(
          eq(webhookDeliveries.state, state as keyof typeof keptDays),
          lte(webhookDeliveries.endedAt, sql`now() - make_interval(days => ${days})`),
        ),
      );
  }
}
