import { and, asc, eq, gte, lte, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type BootEventRow, nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import type { BootEvent } from '#conductor/model/power-and-boot.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';

/** A deploy boots a machine some five times; anybody on the network can have events written. */
const kept = 60;
/** Firmware asks on each of its ports, and again: equal events within this many seconds count once. */
const sameWithinSeconds = 2;

/**
 * Keeps what was seen of the machine that has this MAC address, or of the node; of an unknown machine it keeps nothing. The
 * newest 60 of a node stay.
 */
export async function recordBootEvent(
  db: Queryable,
  machine: { readonly mac: string } | { readonly nodeUuid: string },
  { event, conductor, ...said }: BootEvent & { readonly conductor: string },
): Promise<void> {
  const { detail, bytes } = { detail: said.detail ?? null, bytes: said.bytes ?? null };
  const node =
    'mac' in machine
      ? sql`(select node_uuid from ports where address = ${machine.mac})`
      : sql`(select uuid from nodes where uuid = ${machine.nodeUuid})`;
  await db.execute(sql`
    with node (uuid) as ${node},
    forgotten as (
      delete from node_boot_events where id <= (
        select older.id from node_boot_events older join node on node.uuid = older.node_uuid
        order by older.id desc offset ${kept - 1} limit 1
      ) and node_uuid = (select uuid from node)
    )
    insert into node_boot_events (node_uuid, event, detail, bytes, conductor)
    select node.uuid, ${event}, ${detail}::text, ${bytes}::bigint, ${conductor} from node
    where not exists (
      select from node_boot_events same
      where same.node_uuid = node.uuid and same.event = ${event} and same.detail is not distinct from ${detail}::text
        and same.bytes is not distinct from ${bytes}::bigint and same.at > now() - make_interval(secs => ${sameWithinSeconds})
    )`);
}

/** The same, of what must not be hindered by it: a fault is logged. */
export function noteBootEvent(
  { db, log, config }: Pick<NodesContext, 'db' | 'log' | 'config'>,
  machine: Parameters<typeof recordBootEvent>[1],
  event: BootEvent,
): void {
  recordBootEvent(db, machine, { ...event, conductor: config.conductorName }).catch((err: unknown) =>
    log.warn({ err, ...machine, event: event.event }, 'a boot event was not kept'),
  );
}

/** In their order. */
export function listBootEvents(
  db: Queryable,
  nodeUuid: string,
  { since, until }: { readonly since: Date; readonly until: Date | null },
): Promise<BootEventRow[]> {
  const { at } = nodeBootEvents;
  return db
    .select()
    .from(nodeBootEvents)
    .where(and(eq(nodeBootEvents.nodeUuid, nodeUuid), gte(at, since), ...(until ? [lte(at, until)] : [])))
    .orderBy(asc(nodeBootEvents.id));
}
