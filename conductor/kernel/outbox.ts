import { randomUUID } from 'node:crypto';
import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/query/queryable.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { type OfRequest, viewIds } from '#conductor/model/request-ids.ts';

/** The table of events that webhooks get, with what `data` has. */
export const webhookEvents = {
  'node.provision_state': 'The node has moved: `from`, `to`, `target`, `last_error`, `event` as in the history.',
  'node.power_state':
    'Power was asked for, has changed or was found changed: `power_state`, `target_power_state`, `event`.',
  'node.maintenance': 'Maintenance began or ended: `maintenance`, `reason`, `fault`.',
  'node.flow_started': 'A flow has begun: `flow`, `kind`.',
  'node.flow_succeeded':
    'A flow has ended well: `flow`, `kind`, `seconds`, `warning` where that does not mean all (a cleaning that erased nothing).',
  'node.flow_failed': 'A flow has ended in failure, or was aborted: `flow`, `kind`, `state`, `seconds`, `error`.',
  'node.step_failed': 'A step has failed: `flow`, `kind`, `step`, `error`.',
  'node.attestation':
    "A boot was judged otherwise than the one before (`from`, `verdict`, `reasons`), another TPM has asked in the node's place (`another`), or somebody has accepted a TPM (`accepted_by`); `tpm` is its fingerprint.",
  'allocation.state':
    'An allocation has become active, has failed or was deleted (`deleted`): `allocation` (`uuid`, `name`), `state`, `last_error`, `node_uuid`.',
  'site.action':
    'A site action has been made, has paused by itself (`running`, with the reason as `error`) or has ended: `action` (`id`, `name`), `state` of its flow (`running`, `succeeded`, `failed`, `aborted`), `error`, `user`, `revision`; only to webhooks without a project.',
} as const;

type WebhookEventType = keyof typeof webhookEvents;
const webhookEventTypes = Object.keys(webhookEvents) as WebhookEventType[];

/** Content of one event, besides the node. */
export interface WebhookEvent {
  readonly type: WebhookEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Types and their beginnings, which stand for all of them. */
export const webhookEventFilters: readonly string[] = [
  ...new Set(webhookEventTypes.map((type) => type.slice(0, type.indexOf('.')))),
  ...webhookEventTypes,
];

/** Conductors listen there: it is notified when a transaction that wrote into the outbox has been committed. */
export const webhookChannel = 'baton_webhooks';

const notify = sql`pg_notify(${webhookChannel}::text, '')`;

export interface OutboxValues {
  readonly eventId: string;
  readonly type: WebhookEventType;
  readonly body: string;
}

/** Composes the values of the event as it comes to pass now. @param of the request that it comes of */
export function outboxValues(
  { type, data }: WebhookEvent,
  of: OfRequest,
  eventId: string = randomUUID(),
): OutboxValues {
  const body = JSON.stringify({
    type,
    timestamp: new Date().toISOString(),
    event_id: eventId,
    ...viewIds(of),
    data,
  });
  return { eventId, type, body };
}

/**
 * Writes events of one node into the outbox, each once for each webhook that wants it, so that without webhooks it costs a
 * look at an empty table. May have a `WITH` in front.
 * @param events rows of VALUES: place, id, type, body
 */
export function outboxInsert(nodeUuid: Placeholder, events: SQL): SQL {
  return sql`
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, said.event_id, said.type, node.uuid,
      case when webhook.project is null or webhook.project = node.owner then said.body::jsonb
        -- as lessees do not see it at the node
        else said.body::jsonb #- '{data,last_error}' #- '{data,error}' end
        || jsonb_build_object('node', jsonb_build_object('uuid', node.uuid, 'name', node.name))
    from webhooks webhook cross join (values ${events}) said (place, event_id, type, body)
      join nodes node on node.uuid = ${nodeUuid}::uuid
    where ${isWanted(sql`said.type`, sql`node.owner`, sql`node.lessee`)}
    order by said.place
    returning ${notify}`;
}

/**
 * Notifies webhooks of the owners of allocations of what has become of these; after the statement that changed them,
 * and before the one that deletes them.
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

/**
 * Notifies webhooks that see everything of what has become of a site action. @param subject stands for the action's id
 */
export async function notifyWebhooksOfSite(
  db: Queryable,
  subject: string,
  data: WebhookEvent['data'],
  of: OfRequest,
): Promise<void> {
  const { eventId, type, body } = outboxValues({ type: 'site.action', data }, of);
  await db.execute(sql`
    insert into webhook_deliveries (webhook_uuid, event_id, event_type, subject, body)
    select webhook.uuid, ${eventId}::uuid, ${type}::text, ${subject}::uuid, ${body}::text::jsonb
    from webhooks webhook where ${isWanted(type, sql`null::text`)}
    returning ${notify}`);
}

/** Whether the webhook (`webhook` in the statement) asks for events of this type about what these projects have. */
function isWanted(type: WebhookEventType | SQL, ...projects: readonly SQL[]): SQL {
  return sql`(webhook.project is null or webhook.project in (${sql.join([...projects], sql`, `)}))
    and (webhook.events = '[]' or exists (
      select from jsonb_array_elements_text(webhook.events) wanted
      where wanted.value = ${type}::text or ${type}::text like wanted.value || '.%'))`;
}
