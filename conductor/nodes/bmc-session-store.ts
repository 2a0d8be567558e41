import { and, eq, isNotNull, lt, sql } from 'drizzle-orm';
import type { BmcSession, SessionRecord } from '#conductor/drivers/bmc-session.ts';
import { isAlive } from '#conductor/kernel/conductors/conductor-store.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { bmcSessions } from '#conductor/kernel/db/schema/bmc-session.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';

/** The longest that a BMC keeps a session which nobody uses: Redfish's `SessionTimeout` is a day at most. */
const longestDays = 1;

type Context = Pick<KernelContext, 'db' | 'log'> & { readonly config: Pick<KernelContext['config'], 'conductorName'> };

const isIt = ({ origin, path }: BmcSession) => and(eq(bmcSessions.origin, origin), eq(bmcSessions.path, path));

/** Keeps the record of this conductor's sessions. A database that is away hinders no call to a BMC. */
export function recordBmcSessions({ db, log, config }: Context): SessionRecord {
  const kept =
    (write: (session: BmcSession) => Promise<unknown>) =>
    async (session: BmcSession): Promise<void> => {
      await write(session).catch((err: unknown) => {
        log.warn({ err, bmc: session.origin }, 'a session at a BMC could not be put on record');
      });
    };
  const isMine = (session: BmcSession) => and(isIt(session), eq(bmcSessions.conductor, config.conductorName));
  const used = { conductor: config.conductorName, openedAt: sql`now()`, leftAt: null };
  return {
    opened: kept(({ origin, path, username }) =>
      db
        .insert(bmcSessions)
        .values({ origin, path, username, ...used })
        .onConflictDoUpdate({ target: [bmcSessions.origin, bmcSessions.path], set: { username, ...used } }),
    ),
    ended: kept((session) => db.delete(bmcSessions).where(isMine(session))),
    left: kept((session) => db.update(bmcSessions).set({ leftAt: sql`now()` }).where(isMine(session))),
  };
}

/** Forgets a session that was left, unless the BMC has given its path to a new one meanwhile. */
export async function forgetLeftSession(db: Queryable, session: BmcSession): Promise<void> {
  await db.delete(bmcSessions).where(and(isIt(session), isNotNull(bmcSessions.leftAt)));
}

/** Notes that a conductor uses none of the sessions on record: an earlier life of it has made them. */
export async function leaveSessionsOf(db: Queryable, conductor: string): Promise<void> {
  const isUsed = sql`${bmcSessions.leftAt} is null`;
  await db
    .update(bmcSessions)
    .set({ leftAt: sql`now()` })
    .where(and(eq(bmcSessions.conductor, conductor), isUsed));
}

/**
 * Lists sessions that nobody uses, those of other conductors that are dead among them. Those that every BMC has ended by
 * itself meanwhile are forgotten.
 */
export async function listLeftSessions(
  db: Queryable,
  { conductorName, conductorTimeoutMs }: Pick<KernelContext['config'], 'conductorName' | 'conductorTimeoutMs'>,
): Promise<BmcSession[]> {
  await db
    .update(bmcSessions)
    .set({ leftAt: sql`now()` })
    .where(sql`${bmcSessions.leftAt} is null and ${bmcSessions.conductor} in (
      select ${conductors.hostname} from ${conductors}
      where ${conductors.hostname} <> ${conductorName} and not (${isAlive(conductorTimeoutMs)}))`);
  await db.delete(bmcSessions).where(lt(bmcSessions.leftAt, sql`now() - make_interval(days => ${longestDays})`));
  const { origin, path, username } = bmcSessions;
  return db.select({ origin, path, username }).from(bmcSessions).where(isNotNull(bmcSessions.leftAt));
}
