import { type SQL, sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { type Mark, rememberAnswers } from '#conductor/kernel/db/answered.ts';
import { type InOrder, openConnections } from '#conductor/kernel/db/connections.ts';
import { watchWrites } from '#conductor/kernel/db/faults.ts';
import { type PrivateServer, startPrivateServer } from '#conductor/kernel/db/private-server/private-server.ts';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import type { Life } from '#conductor/kernel/db/session/life.ts';
import { keepListening, waitForLock, withClient } from '#conductor/kernel/db/session/session.ts';
import { createSessionLocks, type SessionLocks } from '#conductor/kernel/db/session/session-locks.ts';
import { answersChannel, shareAnswers } from '#conductor/kernel/db/share-answers.ts';
import { watchTimeline } from '#conductor/kernel/db/timeline.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Log, silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

export const migrationsFolder = new URL('migrations', import.meta.url).pathname;

/**
 * An older conductor must not write into a schema that it does not know: it would lose what the newer ones rely on.
 * (One that runs already goes on while a newer one migrates: a migration takes nothing away that the release before
 * needs.)
 * @throws AppError `conflict` in words for the operator.
 */
async function requireKnownMigrations(read: (query: SQL) => Promise<unknown>): Promise<void> {
  const there = await read(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as answer`);
  const seen = there ? await read(sql`select max(created_at)::float8 as answer from drizzle.__drizzle_migrations`) : 0;
  if (typeof seen === 'number' && seen > knownMigration()) {
    const ways = 'start that version or a newer one; the only way back is a backup of the database';
    throw new AppError('conflict', `${describeNewer('the database', seen)}: ${ways}`);
  }
}

/** Returns the time of the newest migration that this program knows, in milliseconds since 1970. */
export function knownMigration(): number {
  return Math.max(...readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis));
}

/** @param seen when the newest migration was made that it has */
export function describeNewer(what: string, seen: number): string {
  return `${what} was migrated by a newer Baton (its schema is of ${day(seen)}, this program's of ${day(knownMigration())})`;
}

function day(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ');
}

export type { Queryable, Transaction } from '#conductor/kernel/db/query/queryable.ts';

export interface Database {
  readonly db: Queryable;
  readonly inOrder: InOrder;
  /** Notifies every conductor on this database (this one too) that something is to be done; best effort. */
  notify(channel: string, payload: string): Promise<void>;
  /** One listener per channel. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  /** A lock among all processes that use this database; the caller releases it. */
  readonly lock: SessionLocks['lock'];
  /** Life of this process, by which others know whether its work is theirs. */
  readonly life: Life;
  readonly beginLife: SessionLocks['beginLife'];
  readonly count: SessionLocks['count'];
  /** `true` when no other process can use this database: every lease found at start is a dead process's. */
  readonly exclusive: boolean;
  /**
   * Describes the fault that keeps the database from being read and written just now, such as a full disk; `undefined`
   * when nothing does.
   */
  fault(): Promise<string | undefined>;
  /** Describes the answers that the database has forgotten, and what to do; until all nodes are released. */
  loss(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** PostgreSQL's; without it the conductor runs a server of its own. */
  readonly url?: string | undefined;
  readonly dataDirectory: string;
  readonly log?: Log;
  /** User that a server of its own runs as, and where its programs are. Default: what is found. */
  readonly user?: string | undefined;
  readonly binDirectory?: string | undefined;
  /** A server that says nothing for so long is gone. Default 45. */
  readonly answerSeconds?: number;
  /** No other conductor uses the database: nothing keeps watch over this one's life. Default: of a server of its own. */
  readonly isAlone?: boolean;
  /**
   * The asking conductor, and the file that says what was answered, for a server that may be followed by another.
   * Default: memory only.
   */
  readonly conductorName?: string;
  readonly memoryFile?: string;
}

/** Longer than a statement may take: the server itself is gone, or the way to it. */
const answerSeconds = 45;

/**
 * Opens PostgreSQL at `url`, or a private server below `dataDirectory`, and migrates it.
 * @throws AppError `unavailable` when the database can't be opened.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, dataDirectory, log = silentLog, user, binDirectory } = options;
  const answerMs = (options.answerSeconds ?? answerSeconds) * 1000;
  try {
    const isAlone = options.isAlone ?? url === undefined;
    if (url !== undefined) return await openUrl(url, { ...options, log, answerMs, isAlone, server: undefined });
    const server = await startPrivateServer({ dataDirectory, user, binDirectory, log, run });
    return await openUrl(server.url, { log, answerMs, isAlone: true, server });
  } catch (cause) {
    const what = url === undefined ? `the database under ${dataDirectory}` : 'PostgreSQL at DATABASE_URL';
    throw new AppError('unavailable', `open ${what}`, { cause });
  }
}

async function openUrl(
  url: string,
  options: {
    readonly log: Log;
    readonly answerMs: number;
    readonly isAlone: boolean;
    readonly server: PrivateServer | undefined;
  } & Pick<DatabaseOptions, 'conductorName' | 'memoryFile'>,
): Promise<Database> {
  const { log, answerMs, isAlone, server } = options;
  const writes = watchWrites(log);
  const locks = createSessionLocks(url, { isAlone });
  const answered = server ? undefined : rememberAnswers(options.memoryFile, log);
  const timeline =
    answered && watchTimeline(answered, { log, by: options.conductorName ?? '', onLoss: locks.breakOff });
  const onAnswered = (mark: Mark): void => {
    answered?.add(mark);
    sharing?.add(mark);
  };
  const connections = openConnections(url, {
    answerMs,
    onError: writes.onError,
    ...(timeline ? { look: (query) => timeline.look(query), onAnswered } : {}),
  });
  const { db, inOrder } = connections;
  const notify = async (channel: string, payload: string): Promise<void> => {
    await db.execute(sql`select pg_notify(${channel}, ${payload})`);
  };
  const sharing =
    answered && !isAlone
      ? shareAnswers(answered, { notify: (payload) => notify(answersChannel, payload), log })
      : undefined;
  // of what others were answered before it hears them a later transaction of its own shows the same; PostgreSQL flushes
  // one that has written nothing at leisure and has no standby wait for it: so it writes a message that nobody reads
  const catchUp = (): Promise<unknown> =>
    db.transaction((tx) => tx.execute(sql`select pg_logical_emit_message(true, 'baton', '')`));
  const askPlainly = async (text: string) => ({ rows: rowsOf(await db.execute(sql.raw(text))) as never });
  const listener = keepListening(url, () => {
    // each later transaction of its own catches up, too; every other query reports what is wrong with the database
    if (sharing)
      catchUp().catch((error: unknown) => log.debug({ err: error }, 'catching up after a reconnection failed'));
  });
  const close = async (): Promise<void> => {
    try {
      await listener.close();
      await sharing?.close();
      await locks.close();
      await connections.close();
      await answered?.close();
    } finally {
      await server?.close();
    }
  };
  try {
    await migrateAlone(url);
    if (sharing) {
      await listener.listen(answersChannel, (payload) => sharing.hear(payload));
      await catchUp();
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    inOrder,
    notify,
    listen: (channel, onPayload) => listener.listen(channel, onPayload),
    lock: locks.lock,
    life: locks.life,
    beginLife: locks.beginLife,
    count: locks.count,
    exclusive: server !== undefined,
    fault: async () => server?.trouble() ?? (await writes.fault(db)),
    loss: async () => timeline?.loss(askPlainly),
    close,
  };
}

/** Migrates while no other conductor does: several that are started at once migrate one after the other. */
async function migrateAlone(url: string): Promise<void> {
  const release = await waitForLock(url, 'migration');
  try {
    await withClient(url, async (client) => {
      const db = drizzle(client, { casing: 'snake_case' });
      await requireKnownMigrations(async (query) => answerOf(await db.execute(query)));
      await migrate(db, { migrationsFolder });
    });
  } finally {
    await release();
  }
}

function answerOf(result: unknown): unknown {
  const [row] = rowsOf(result) as { answer: unknown }[];
  return row?.answer;
}
