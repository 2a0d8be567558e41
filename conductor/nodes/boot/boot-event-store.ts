import { and, asc, eq, gte, inArray, lte, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { agentSessions, type BootEventRow, nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import type { BootEvent } from '#conductor/model/power-and-boot.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { isNode } from '#conductor/nodes/node-store.ts';
import { plainAddress, urlHost } from '#shared/peers/address-ranges.ts';

/** A deploy boots a machine some five times; anybody on the network can have events written. */
const kept = 60;
/** Firmware asks on each of its ports, and again: equal events within this many seconds count once. */
const sameWithinSeconds = 2;

/**
 * Machine that something was seen of: by one of its MAC addresses, by all that it has named, whose ports must not be of
 * two nodes, by its node, by what it calls its node (UUID or name), or by the IP address that a boot under way has it
 * call from, which must not be of two.
 */
export type SeenMachine =
  | { readonly mac: string }
  | { readonly macs: readonly string[] }
  | { readonly nodeUuid: string }
  | { readonly ident: string }
  | { readonly address: string };

/**
 * Keeps what was seen of a machine; of an unknown one it keeps nothing. The newest 60 of a node stay. A refusal counts
 * once until something else is seen of the boot: agents ask again every few seconds.
 * @returns the node whose event is new
 */
export async function recordBootEvent(
  db: Queryable,
  machine: SeenMachine,
  { event, conductor, ...said }: BootEvent & { readonly conductor: string },
): Promise<string | undefined> {
  const { detail, bytes } = { detail: said.detail ?? null, bytes: said.bytes ?? null };
  const answer = await db.execute(sql`
    with node (uuid) as (${nodeOf(machine)}),
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
        and same.bytes is not distinct from ${bytes}::bigint
        and (same.at > now() - make_interval(secs => ${sameWithinSeconds}) or (same.event = 'refused' and not exists (
          select from node_boot_events later
          where later.node_uuid = node.uuid and later.id > same.id and later.event <> 'refused'
        )))
    )
    returning node_uuid`);
  const [row] = z.array(z.object({ node_uuid: z.string() })).parse(rowsOf(answer));
  return row?.node_uuid;
}

function nodeOf(machine: SeenMachine): SQL {
  if ('mac' in machine) return sql`select node_uuid from ports where address = ${machine.mac}`;
  if ('macs' in machine) {
    const isOfIt = inArray(ports.address, [...machine.macs]);
    return sql`select (array_agg(node_uuid))[1] from ${ports} where ${isOfIt} having count(distinct node_uuid) = 1`;
  }
  if ('address' in machine) {
    const { bootSource, callbackUrl } = agentSessions;
    const plain = plainAddress(machine.address);
    const isOfIt = sql`${inArray(bootSource, [plain, `::ffff:${plain}`])}
      or starts_with(${callbackUrl}, ${`http://${urlHost(plain)}:`})
      or starts_with(${callbackUrl}, ${`https://${urlHost(plain)}:`})`;
    return sql`select (array_agg(node_uuid))[1] from ${agentSessions} where ${isOfIt} having count(*) = 1`;
  }
  return sql`select uuid from nodes where ${isNode('ident' in machine ? machine.ident : machine.nodeUuid)}`;
}

/** The same, of what must not be hindered by it: a fault is logged. */
export function noteBootEvent(
  { db, log, config }: Pick<NodesContext, 'db' | 'log' | 'config'>,
  machine: SeenMachine,
  event: BootEvent,
): void {
  recordBootEvent(db, machine, { ...event, conductor: config.conductorName }).catch((err: unknown) =>
    log.warn({ err, ...machine, event: event.event }, 'a boot event was not kept'),
  );
}

/** Lists boot events in their order. */
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
