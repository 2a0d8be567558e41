import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { isOlderThan, lifeEndsWithSession } from '#conductor/kernel/conductors/conductor-store.ts';
import { conductorLock } from '#conductor/kernel/conductors/register.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { nodeLeases } from '#conductor/kernel/db/schema/node.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import { selfFenceMs } from '#conductor/kernel/db/session/life.ts';
import { lockKey } from '#conductor/kernel/db/session/lock-key.ts';

type Context = Pick<KernelContext, 'db' | 'log'> & { readonly config: Pick<KernelContext['config'], 'conductorName'> };

/** A conductor that has no session with the database, as the database showed it in one look. */
interface Silent {
  readonly hostname: string;
  readonly generation: number;
  /** Its last sign of life; a session that comes back gives one before it counts. */
  readonly heardAt: string;
}

/** Work that a dead conductor leaves to others. */
export interface LeftBehind {
  readonly hostname: string;
  /** Nodes that it was at. */
  readonly nodes: readonly string[];
}

/**
 * Makes what looks for conductors that have died. The first look that finds no session proves nothing yet: a connection may
 * be cut, and until its own clocks say that it is dead, its conductor acts. One that has not come back when these are over,
 * and has said nothing by another way, is dead: its leases end.
 * @param nowMs a steady clock
 */
export function createDeathWatch(
  context: Context,
  nowMs: () => number = () => performance.now(),
): () => Promise<LeftBehind[]> {
  const silentSince = new Map<string, number>();
  return async () => {
    const silent = (await findSilent(context)).map((each) => ({ each, key: JSON.stringify(each) }));
    const seenAt = nowMs();
    for (const known of silentSince.keys()) if (!silent.some(({ key }) => key === known)) silentSince.delete(known);
    const dead: LeftBehind[] = [];
    for (const { each, key } of silent) {
      const since = silentSince.get(key) ?? seenAt;
      silentSince.set(key, since);
      if (seenAt - since < selfFenceMs) continue;
      const left = await bury(context.db, each);
      if (!left) continue;
      context.log.warn({ conductor: left.hostname, nodes: left.nodes.length }, 'a conductor has died: others go on');
      dead.push(left);
    }
    return dead;
  };
}

const keyOfName = sql.raw(lockKey(`'${conductorLock('')}' || conductors.hostname`));

/** On a row of `conductors`: its session holds its name. */
const hasSession = sql<boolean>`exists (select from pg_locks where locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = ${keyOfName})`;

async function findSilent({ db, config }: Context): Promise<Silent[]> {
  const rows = await db
    .select({
      hostname: conductors.hostname,
      generation: conductors.generation,
      knows: conductors.knows,
      knowsGeneration: conductors.knowsGeneration,
      heardAt: sql<string>`${conductors.updatedAt}::text`,
      hasSession,
    })
    .from(conductors)
    .where(and(isNull(conductors.stoppedAt), sql`${conductors.hostname} <> ${config.conductorName}`));
  return (
    rows
      // an older release goes on acting when its session is cut
      .filter((row) => !row.hasSession && !isOlderThan(lifeEndsWithSession, row))
      .map(({ hostname, generation, heardAt }) => ({ hostname, generation, heardAt }))
  );
}

/** Declares a conductor dead; `undefined` when it lives after all, or another conductor has declared it. */
function bury(db: Queryable, { hostname, generation, heardAt }: Silent): Promise<LeftBehind | undefined> {
  return db.transaction(async (tx) => {
    const isIt = and(
      eq(conductors.hostname, hostname),
      eq(conductors.generation, generation),
      isNull(conductors.stoppedAt),
      sql`${conductors.updatedAt} = ${heardAt}::timestamptz`,
    );
    const [row] = await tx
      .update(conductors)
      .set({ stoppedAt: sql`now()` })
      .where(and(isIt, sql`pg_try_advisory_xact_lock(${keyOfName})`))
      .returning({ hostname: conductors.hostname });
    if (!row) return undefined;
    const ends = { expiresAt: sql`now()` };
    const nodes = await tx
      .update(nodeLeases)
      .set(ends)
      .where(and(eq(nodeLeases.holder, hostname), gt(nodeLeases.expiresAt, sql`now()`)))
      .returning({ uuid: nodeLeases.nodeUuid });
    await tx
      .update(siteActions)
      .set(ends)
      .where(and(eq(siteActions.holder, hostname), gt(siteActions.expiresAt, sql`now()`)));
    await tx.update(webhookDeliveries).set({ claimedUntil: null }).where(eq(webhookDeliveries.claimedBy, hostname));
    return { hostname, nodes: nodes.map(({ uuid }) => uuid) };
  });
}
