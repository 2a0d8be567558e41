import { randomUUID } from 'node:crypto';
import { and, desc, eq, gte, inArray, type SQL, type SQLChunk, sql } from 'drizzle-orm';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { onceFor, statement } from '#conductor/kernel/db/query/statement.ts';
import { nodeHistory } from '#conductor/kernel/db/schema/node.ts';
import { beforeCommit, type Write } from '#conductor/kernel/db/session/session.ts';
import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { type OutboxValues, outboxInsert, outboxValues, type WebhookEvent } from '#conductor/kernel/outbox.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { type OfRequest, type RequestIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface HistoryEntry extends OfRequest {
  /** For `rewriteHistory`. */
  readonly uuid?: string;
  readonly nodeUuid: string;
  /** Default: INFO. */
  readonly severity?: 'INFO' | 'ERROR';
  /** `provisioning`, `power`, `network` … */
  readonly eventType: string;
  readonly event: string;
  readonly conductor: string;
  /** The user who asked for it, when somebody did. */
  readonly user?: string | undefined;
  /** The project that they are bound to. */
  readonly project?: string | undefined;
  /** Seconds for which the node was in the state that it has left by this; default: for which it has been in its own. */
  readonly durationSeconds?: number | undefined;
  /** The event that webhooks get of it; they get the entry's UUID as the id of the event. */
  readonly notify?: WebhookEvent;
}

/** Writes `event (site action 01J…)` where a site action has acted in its user's name. */
export function actedVia(event: string, { via }: { readonly via?: string | undefined }): string {
  return via === undefined ? event : `${event} (${via})`;
}

/** Number of entries, as in Ironic; a machine that comes and goes for years must not fill the database. */
const kept = 300;
const strangersShare = 30;

/**
 * Adds an entry, and forgets beyond the 300 that are kept the oldest of the type and severity that have most: whatever
 * happens again and again takes no place from what is rare; webhooks are notified of it. In a transaction it is
 * written right before COMMIT.
 */
export async function addHistory(db: Queryable, entry: HistoryEntry): Promise<void> {
  const {
    nodeUuid,
    notify,
    severity = 'INFO',
    user = null,
    project = null,
    uuid = randomUUID(),
    durationSeconds,
    requestId,
    globalRequestId,
    ...fields
  } = entry;
  const ids = requestIdsOf({ requestId, globalRequestId });
  const event = notify && outboxValues(notify, ids, uuid);
  await beforeCommit(db, writeNotes, {
    nodeUuid,
    entry: { uuid, severity, user, project, durationSeconds: durationSeconds ?? null, ...ids, ...fields },
    event,
  });
}

/**
 * Adds history as `addHistory` does, for what a machine causes that has proved nothing: anybody can, as often as they
 * like, and fills no more than a share of the history.
 * @param keep so many of its type and severity
 */
export async function addStrangersHistory(db: Queryable, entry: HistoryEntry, keep = strangersShare): Promise<void> {
  const { nodeUuid, eventType, severity = 'INFO' } = entry;
  await addHistory(db, entry);
  await forgetOldest(db, nodeUuid, { eventType, severity, keep });
}

/** Forgets the node's oldest entries of one type and severity, beyond the newest `keep`. */
export async function forgetOldest(
  db: Queryable,
  nodeUuid: string,
  { eventType, severity, keep }: Required<Pick<HistoryEntry, 'eventType' | 'severity'>> & { readonly keep: number },
): Promise<void> {
  const ofType = and(
    eq(nodeHistory.nodeUuid, nodeUuid),
    eq(nodeHistory.eventType, eventType),
    eq(nodeHistory.severity, severity),
  );
  const old = db.select({ id: nodeHistory.id }).from(nodeHistory).where(ofType).orderBy(desc(nodeHistory.id));
  await db.delete(nodeHistory).where(inArray(nodeHistory.id, old.offset(keep)));
}

/** Says something else in the place of an entry, of what goes on. @returns whether it is still there */
export async function rewriteHistory(db: Queryable, uuid: string, event: string): Promise<boolean> {
  const rows = await db.update(nodeHistory).set({ event }).where(eq(nodeHistory.uuid, uuid)).returning();
  return rows.length > 0;
}

/** Notifies webhooks of what the history does not have; otherwise as `addHistory`. */
export async function notifyWebhooks(
  db: Queryable,
  nodeUuid: string,
  event: WebhookEvent,
  of: OfRequest,
): Promise<void> {
  await beforeCommit(db, writeNotes, { nodeUuid, entry: undefined, event: outboxValues(event, of) });
}

const entryKeys = [
  'uuid',
  'severity',
  'eventType',
  'event',
  'conductor',
  'user',
  'project',
  'requestId',
  'globalRequestId',
] as const;

interface Note {
  readonly nodeUuid: string;
  readonly entry:
    | Readonly<Record<(typeof entryKeys)[number], string | null> & { durationSeconds: number | null }>
    | undefined;
  readonly event: OutboxValues | undefined;
}

/** In one statement. */
const mostNotes = 6;

const writeNotes: Write<Note> = async (db, notes) => {
  const ofNodes = [...Map.groupBy(notes, ({ nodeUuid }) => nodeUuid).values()];
  const parts = ofNodes.flatMap((all) =>
    all.flatMap((_, index) => (index % mostNotes === 0 ? [all.slice(index, index + mostNotes)] : [])),
  );
  await allTogether(
    parts.map((part) => {
      const shapes = part.map(({ entry, event }) => (entry && event ? 'both' : entry ? 'entry' : 'event'));
      const values = part.flatMap(({ entry, event }, place) =>
        Object.entries({ ...entry, ...(event && { eventId: event.eventId, type: event.type, body: event.body }) }).map(
          ([key, value]) => [`${key}${place}`, value],
        ),
      );
      return insertNotes(shapes)(db, { ...Object.fromEntries(values), nodeUuid: part[0]?.nodeUuid });
    }),
  );
};

const insertNotes = onceFor((shapes: readonly ('both' | 'entry' | 'event')[]) =>
  statement<Readonly<Record<string, unknown>>>((value) => {
    const rowsOf = (without: 'entry' | 'event', row: (place: number) => SQL): SQL[] =>
      shapes.flatMap((shape, place) => (shape === without ? [] : [row(place)]));
    const node = value('nodeUuid');
    const ofNow = (column: SQL): SQL => sql`(select ${column} from nodes where nodes.uuid = ${node}::uuid)`;
    const entries = rowsOf(
      'event',
      (place) =>
        sql`(${node}, ${list(entryKeys.map((key) => value(`${key}${place}`)))}, ${ofNow(sql`provision_state`)},
          ${ofNow(sql`target_provision_state`)}, coalesce(${value(`durationSeconds${place}`)}::integer,
          ${ofNow(sql`greatest(0, extract(epoch from clock_timestamp() - provision_updated_at))::integer`)}))`,
    );
    const events = rowsOf('entry', (place) => {
      const [id, type, body] = [value(`eventId${place}`), value(`type${place}`), value(`body${place}`)];
      return sql`(${sql.raw(String(place))}, ${id}::uuid, ${type}::text, ${body}::text)`;
    });
    if (entries.length === 0) return outboxInsert(node, list(events));
    const added = sql`with added as (
      insert into node_history (node_uuid, uuid, severity, event_type, event, conductor, "user", project, request_id,
        global_request_id,        state, target_provision_state, duration_seconds) values ${list(entries)})`;
    // the statement does not see the entries that it adds: of those before it, as many less are kept
    const left = sql.raw(String(kept - entries.length));
    const forgotten = sql`delete from node_history where id in (
      select id from (
        select id, row_number() over (partition by event_type, severity order by id desc) as place
        from node_history where node_uuid = ${node}::uuid
      ) as ranked order by place desc, id
      limit (select greatest(0, count(*) - ${left}) from node_history where node_uuid = ${node}::uuid))`;
    if (events.length === 0) return sql`${added} ${forgotten}`;
    return sql`${added}, forgotten as (${forgotten}) ${outboxInsert(node, list(events))}`;
  }),
);

function list(parts: readonly SQLChunk[]): SQL {
  return sql.join([...parts], sql`, `);
}

type HistoryRow = typeof nodeHistory.$inferSelect;

const sortable = {
  ...Object.fromEntries(
    (['uuid', 'severity', 'event', 'eventType', 'conductor', 'user', 'project'] as const).map((name) => [
      name.replace(/T/, '_t'),
      nodeHistory[name],
    ]),
  ),
  created_at: nodeHistory.createdAt,
};

/**
 * One page of a node's history.
 * @param page `id` as `sortKey`: by time
 * @throws AppError `invalid_argument` for an unknown sort key
 */
export function listHistoryPage(db: Queryable, nodeUuid: string, page: PageRequest): Promise<HistoryRow[]> {
  const { order, after } = pageOf({
    table: sql`${nodeHistory}`,
    uuid: nodeHistory.uuid,
    id: nodeHistory.id,
    sortBy: sortColumn(sortable, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  return db
    .select()
    .from(nodeHistory)
    .where(and(eq(nodeHistory.nodeUuid, nodeUuid), after))
    .orderBy(...order)
    .limit(page.limit);
}

/** @throws AppError `not_found` for an entry that the node does not have (any more) */
export async function getHistoryEntry(db: Queryable, nodeUuid: string, entryUuid: string): Promise<HistoryRow> {
  const isEntry = and(eq(nodeHistory.nodeUuid, nodeUuid), eq(nodeHistory.uuid, entryUuid));
  const [entry] = isUuid(entryUuid) ? await db.select().from(nodeHistory).where(isEntry) : [];
  if (!entry) throw new AppError('not_found', `Node history entry ${entryUuid} could not be found.`);
  return entry;
}

/** Finds the newest of one type. */
export async function findHistoryEntry(
  db: Queryable,
  nodeUuid: string,
  { eventType, since }: { readonly eventType: string; readonly since: Date },
): Promise<HistoryRow | undefined> {
  const isMeant = and(
    eq(nodeHistory.nodeUuid, nodeUuid),
    eq(nodeHistory.eventType, eventType),
    gte(nodeHistory.createdAt, since),
  );
  const [row] = await db.select().from(nodeHistory).where(isMeant).orderBy(desc(nodeHistory.id)).limit(1);
  return row;
}

/** Lists history, newest first. */
export function listHistory(db: Queryable, nodeUuid: string, limit = kept): Promise<HistoryRow[]> {
  return db
    .select()
    .from(nodeHistory)
    .where(eq(nodeHistory.nodeUuid, nodeUuid))
    .orderBy(desc(nodeHistory.id))
    .limit(limit);
}

/** Note in the history of an operator's change. Names of fields at most: values may be secrets. */
export interface ChangeNote extends RequestIds {
  readonly event: string;
  readonly conductor: string;
  readonly user: string | undefined;
  readonly project: string | undefined;
}

export function changeNote(
  { config }: Pick<NodesContext, 'config'>,
  { user, project, via, ...ids }: Pick<Caller, 'user' | 'project' | 'via' | keyof RequestIds>,
  event: string,
): ChangeNote {
  return { event: actedVia(event, { via }), conductor: config.conductorName, user, project, ...requestIdsOf(ids) };
}

/** @param uuid of the entry, where it is written again later */
export function writeChangeNote(db: Queryable, nodeUuid: string, note: ChangeNote, uuid?: string): Promise<void> {
  return addHistory(db, { nodeUuid, eventType: 'change', ...note, ...(uuid ? { uuid } : {}) });
}

/** More are only counted. */
const namedPaths = 20;

/** Describes a patch by its paths, never by its values: `changed /name, /driver_info/redfish_address`. */
export function describePatch(patch: JsonPatch): string {
  return describePaths(patch.map(({ path }) => path));
}

export function describePaths(given: readonly string[]): string {
  const paths = [...new Set(given)];
  const more = paths.length > namedPaths ? ` and ${paths.length - namedPaths} more` : '';
  return `changed ${paths.slice(0, namedPaths).join(', ') || 'nothing'}${more}`;
}
