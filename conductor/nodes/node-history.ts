import { randomUUID } from 'node:crypto';
import { desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeHistory } from '#conductor/kernel/db/schema/node.ts';
import { statement, type Value } from '#conductor/kernel/db/statement.ts';
import { type OutboxValues, outboxInsert, outboxValues } from '#conductor/kernel/outbox.ts';
import type { WebhookEvent } from '#conductor/kernel/webhook-events.ts';

export interface HistoryEntry {
  readonly nodeUuid: string;
  readonly severity: 'INFO' | 'ERROR';
  /** `provisioning`, `power`, `network` … */
  readonly eventType: string;
  readonly event: string;
  readonly conductor: string;
  /** Who asked for it, when somebody did. */
  readonly user?: string | undefined;
  /** The project that they are bound to. */
  readonly project?: string | undefined;
  /** What webhooks are told of it; they get the entry's UUID as the id of the event. */
  readonly notify?: WebhookEvent;
}

/** `event (site action 01J…)` where something has acted in its user's name. */
export function actedVia(event: string, { via }: { readonly via?: string | undefined }): string {
  return via === undefined ? event : `${event} (${via})`;
}

/** As Ironic; a machine that comes and goes for years must not fill the database. */
const kept = 300;

/** Adds an entry, forgets the node's oldest beyond the 300 that are kept, and writes into the outbox: one statement. */
export async function addHistory(db: Queryable, entry: HistoryEntry): Promise<void> {
  const uuid = randomUUID();
  const { user = null, project = null, notify, ...fields } = entry;
  const values = { uuid, user, project, ...fields };
  if (notify) await addAndNotify(db, { ...values, ...outboxValues(entry.nodeUuid, notify, uuid) });
  else await addOnly(db, values);
}

type EntryValues = Omit<HistoryEntry, 'notify' | 'user' | 'project'> & {
  readonly uuid: string;
  readonly user: string | null;
  readonly project: string | null;
};
const added = (value: Value<EntryValues>): SQL => sql`
  added as (
    insert into node_history (uuid, node_uuid, severity, event_type, event, conductor, "user", project)
    values (${value('uuid')}, ${value('nodeUuid')}, ${value('severity')}, ${value('eventType')}, ${value('event')},
      ${value('conductor')}, ${value('user')}, ${value('project')})
  )`;
// the statement does not see the entry that it adds: of those before it, one less is kept
const forgotten = (value: Value<EntryValues>): SQL => sql`
  delete from node_history where node_uuid = ${value('nodeUuid')}::uuid and id <= (
    select id from node_history where node_uuid = ${value('nodeUuid')}::uuid order by id desc
    offset ${sql.raw(String(kept - 1))} limit 1
  )`;
const addOnly = statement<EntryValues>((value) => sql`with ${added(value)} ${forgotten(value)}`);
const addAndNotify = statement<EntryValues & OutboxValues>(
  (value) => sql`with ${added(value)}, forgotten as (${forgotten(value)}) ${outboxInsert(value)}`,
);

/** Newest first. */
export function listHistory(
  db: Queryable,
  nodeUuid: string,
  limit = kept,
): Promise<(typeof nodeHistory.$inferSelect)[]> {
  return db
    .select()
    .from(nodeHistory)
    .where(eq(nodeHistory.nodeUuid, nodeUuid))
    .orderBy(desc(nodeHistory.id))
    .limit(limit);
}
