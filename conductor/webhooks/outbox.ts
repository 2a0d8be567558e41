import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import type { WebhookEvent } from '#conductor/webhooks/webhook-events.ts';

/** Conductors listen there: it is notified when a transaction that wrote into the outbox has been committed. */
export const webhookChannel = 'baton_webhooks';

/**
 * Writes the event into the outbox, in the caller's transaction: once for each webhook that wants it, so that without
 * webhooks it costs a look at an empty table.
 */
export async function tellWebhooks(db: Queryable, nodeUuid: string, event: WebhookEvent): Promise<void> {
  await db.execute(outboxInsert(nodeUuid, event));
}

/** `tellWebhooks` as an `INSERT`, which may have a `WITH` in front. */
export function outboxInsert(nodeUuid: string, event: WebhookEvent, eventId: string = randomUUID()): SQL {
  return insertFor({
    event,
    eventId,
    subject: sql`${nodeUuid}::uuid`,
    about: sql`'node', jsonb_build_object('uuid', node.uuid, 'name', node.name)`,
    join: sql`join nodes node on node.uuid = ${nodeUuid}`,
    owners: sql`webhook.project in (node.owner, node.lessee)`,
  });
}

/** The event of an allocation, for webhooks of its owner. */
export async function tellWebhooksOfAllocation(
  db: Queryable,
  allocation: { readonly uuid: string; readonly name: string | null; readonly owner: string | null },
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { uuid, name, owner } = allocation;
  await db.execute(
    insertFor({
      event: { type: 'allocation.state', data: { allocation: { uuid, name }, ...data } },
      eventId: randomUUID(),
      subject: sql`${uuid}::uuid`,
      about: sql``,
      join: sql``,
      owners: sql`webhook.project = ${owner}`,
    }),
  );
}

function insertFor(options: {
  readonly event: WebhookEvent;
  readonly eventId: string;
  readonly subject: SQL;
  readonly about: SQL;
  readonly join: SQL;
  readonly owners: SQL;
}): SQL {
  const { type, data } = options.event;
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), event_id: options.eventId, data });
  return sql`
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, ${options.eventId}::uuid, ${type}::text, ${options.subject},
      ${body}::text::jsonb || jsonb_build_object(${options.about})
    from webhooks webhook ${options.join}
    where (webhook.project is null or ${options.owners})
      and (webhook.events = '[]' or exists (
        select from jsonb_array_elements_text(webhook.events) wanted
        where wanted.value = ${type}::text or ${type}::text like wanted.value || '.%'))
    returning pg_notify(${webhookChannel}::text, '')`;
}
