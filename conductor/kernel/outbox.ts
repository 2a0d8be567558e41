import { randomUUID } from 'node:crypto';
import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { isAmong } from '#conductor/kernel/db/is-among.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { statement, type Value } from '#conductor/kernel/db/statement.ts';
import type { WebhookEvent, WebhookEventType } from '#conductor/kernel/webhook-events.ts';

/** Conductors listen there: it is notified when a transaction that wrote into the outbox has been committed. */
export const webhookChannel = 'baton_webhooks';

const notify = sql`pg_notify(${webhookChannel}::text, '')`;

/**
 * Writes the event into the outbox, in the caller's transaction: once for each webhook that wants it, so that without
 * webhooks it costs a look at an empty table.
 */
export async function notifyWebhooks(db: Queryable, nodeUuid: string, event: WebhookEvent): Promise<void> {
  await writeOutbox(db, outboxValues(nodeUuid, event));
}

export interface OutboxValues {
  readonly nodeUuid: string;
  readonly eventId: string;
  readonly type: WebhookEventType;
  readonly body: string;
}

/** What `outboxInsert` is asked with. */
export function outboxValues(
  nodeUuid: string,
  { type, data }: WebhookEvent,
  eventId: string = randomUUID(),
): OutboxValues {
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), event_id: eventId, data });
  return { nodeUuid, eventId, type, body };
}

/** `notifyWebhooks` as an `INSERT`, which may have a `WITH` in front. */
export function outboxInsert(value: Value<OutboxValues>): SQL {
  return sql`
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, ${value('eventId')}::uuid, ${value('type')}::text, node.uuid,
      case when webhook.project is null or webhook.project = node.owner then ${value('body')}::text::jsonb
        -- as lessees do not see it at the node
        else ${value('body')}::text::jsonb #- '{data,last_error}' #- '{data,error}' end
        || jsonb_build_object('node', jsonb_build_object('uuid', node.uuid, 'name', node.name))
    from webhooks webhook join nodes node on node.uuid = ${value('nodeUuid')}::uuid
    where ${isWanted(value('type'), sql`node.owner`, sql`node.lessee`)}
    returning ${notify}`;
}

const writeOutbox = statement<OutboxValues>(outboxInsert);

/**
 * What has become of allocations, for webhooks of their owners; after the statement that changed them, and before the one
 * that deletes them.
 */
export async function notifyWebhooksOfAllocations(
  tx: Transaction,
  uuids: readonly string[],
  fate?: 'deleted',
): Promise<void> {
  if (uuids.length === 0) return;
  const type: WebhookEventType = 'allocation.state';
  // materialized: every webhook gets the same id
  await tx.execute(sql`
    with announced as materialized (
      select uuid, owner, gen_random_uuid() as event_id, jsonb_build_object(
        'allocation', jsonb_build_object('uuid', uuid, 'name', name), 'state', coalesce(${fate ?? null}::text, state), 'last_error', last_error,
        'node_uuid', node_uuid) as data
      from allocations where ${isAmong(allocations.uuid, uuids)}
    )
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, announced.event_id, ${type}::text, announced.uuid, jsonb_build_object('type', ${type}::text,
      'timestamp', ${new Date().toISOString()}::text, 'event_id', announced.event_id, 'data', announced.data)
    from announced cross join webhooks webhook
    where ${isWanted(type, sql`announced.owner`)}
    returning ${notify}`);
}

/** What has become of a site action, for webhooks that see everything. @param subject stands for the action's id */
export async function notifyWebhooksOfSite(db: Queryable, subject: string, data: WebhookEvent['data']): Promise<void> {
  const type: WebhookEventType = 'site.action';
  const eventId = randomUUID();
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), event_id: eventId, data });
  await db.execute(sql`
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, ${eventId}::uuid, ${type}::text, ${subject}::uuid, ${body}::text::jsonb
    from webhooks webhook where ${isWanted(type, sql`null::text`)}
    returning ${notify}`);
}

/** Whether the webhook (`webhook` in the statement) asks for events of this type about what these projects have. */
function isWanted(type: WebhookEventType | Placeholder, ...projects: readonly SQL[]): SQL {
  return sql`(webhook.project is null or webhook.project in (${sql.join([...projects], sql`, `)}))
    and (webhook.events = '[]' or exists (
      select from jsonb_array_elements_text(webhook.events) wanted
      where wanted.value = ${type}::text or ${type}::text like wanted.value || '.%'))`;
}
