import type { Duplex } from 'node:stream';
import { Client, escapeIdentifier } from 'pg';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { pointAtServer, type Server, serverOf } from '#conductor/kernel/db/session/hosts.ts';
import { lockKey } from '#conductor/kernel/db/session/lock-key.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

/** Writes rows, in the order in which they were given, with `statement`s that are all sent when it is called. */
export type Write<Row> = (db: Queryable, rows: readonly Row[]) => Promise<unknown>;

type Waiting = Map<Write<never>, unknown[]>;
const waiting = Symbol('before commit');

/** Makes `beforeCommit` keep rows for the end of this transaction. */
export function collectRows<Tx extends Queryable>(tx: Tx): Tx {
  return Object.assign(tx, { [waiting]: new Map() satisfies Waiting });
}

/**
 * Writes a row that nothing in its transaction reads: together with all others of its kind, right before COMMIT and without
 * a round trip of its own. Without a transaction it is written at once.
 */
export async function beforeCommit<Row>(db: Queryable, write: Write<Row>, row: Row): Promise<void> {
  const rows = Reflect.get(db, waiting) as Waiting | undefined;
  if (!rows) await write(db, [row]);
  else rows.set(write, [...(rows.get(write) ?? []), row]);
}

/**
 * Sends what was kept, to be waited for with the COMMIT, which commits nothing when one of them fails.
 * @param countSent how many statements the transaction has sent
 * @throws AppError `internal` for what would be sent too late
 */
export function writeRows(tx: Queryable, countSent: () => number): Promise<unknown>[] {
  const rows = Reflect.get(tx, waiting) as Waiting;
  return [...rows].map(([write, each]) => {
    const before = countSent();
    const written = write(tx, each as never[]);
    if (countSent() > before) return written;
    written.catch(() => undefined); // it was not sent: the error below says so
    throw new AppError(
      'internal',
      'rows for the end of a transaction must be written by a statement that is sent at once',
    );
  });
}

const connectMs = 10_000;
/** Linux's default is two hours: a cable that was pulled would not be noticed. */
export const keepAliveInitialDelayMillis = 30_000;
/** A server that is gone does not say good-bye. */
const goodbyeMs = 5_000;

/** One connection of its own, opened when it is first asked for, and again after it was lost. */
export interface Session {
  /** @throws what went wrong when it can't be opened */
  client(): Promise<Client>;
  close(): Promise<void>;
}

interface SessionOptions {
  /** Milliseconds; default: as long as a statement takes. */
  readonly answerMs?: number;
  /** Before anybody gets the connection. */
  readonly onOpen?: (client: Client) => Promise<void>;
  readonly onLost?: () => void;
}

/** Does work on a connection of its own. @throws AppError `unavailable` when there is none */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const server = serverOf(url);
  const client = new Client({ connectionString: server.connectionString, connectionTimeoutMillis: connectMs });
  client.on('error', () => undefined); // the statement fails, too
  try {
    await connectTo(server, client).catch((cause: unknown) => {
      throw new AppError('unavailable', 'connect to the database', { cause });
    });
    return await work(client);
  } finally {
    await client.end();
  }
}

async function connectTo(server: Server, client: Client): Promise<void> {
  await pointAtServer(client, server);
  await client.connect();
}

/** Opens a session, for things that belong to a connection and not to a statement: locks, `LISTEN`. */
export function openSession(url: string, { answerMs, onOpen, onLost }: SessionOptions): Session {
  const state: { opened?: Promise<Client> | undefined; isClosed: boolean } = { isClosed: false };
  const server = serverOf(url);
  const open = async (): Promise<Client> => {
    const client = new Client({
      connectionString: server.connectionString,
      connectionTimeoutMillis: connectMs,
      query_timeout: answerMs,
      keepAlive: true,
      keepAliveInitialDelayMillis,
    });
    client.on('error', () => undefined); // 'end' follows
    client.on('end', () => {
      state.opened = undefined;
      if (!state.isClosed) onLost?.();
    });
    await connectTo(server, client);
    try {
      await onOpen?.(client);
    } catch (error) {
      await client.end();
      throw error;
    }
    return client;
  };
  return {
    client: () => {
      state.opened ??= open().catch((error: unknown) => {
        state.opened = undefined;
        throw error;
      });
      return state.opened;
    },
    close: async () => {
      state.isClosed = true;
      const client = await state.opened?.catch(() => undefined);
      if (client) await endInTime(client);
    },
  };
}

async function endInTime(client: Client): Promise<void> {
  const timer = setTimeout(() => cutConnection(client), goodbyeMs);
  await client.end();
  clearTimeout(timer);
}

export function cutConnection(client: Client): void {
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream.destroy();
}

const retryEveryMs = 1_000;

export interface Listener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * Keeps a `LISTEN` on a connection of its own, and begins again whenever the connection is lost.
 * @param onAgain it listens again, and has not heard what was sent meanwhile
 */
export function keepListening(url: string, onAgain: () => void): Listener {
  const closing = new AbortController();
  const channels = new Map<string, (payload: string) => void>();
  const state: { attempt?: Promise<void> | undefined } = {};
  const session = openSession(url, {
    onOpen: async (client) => {
      client.on('notification', ({ channel, payload }) => channels.get(channel)?.(payload ?? ''));
      for (const channel of channels.keys()) await client.query(`listen ${escapeIdentifier(channel)}`);
    },
    onLost: () => {
      state.attempt ??= listenAgain().finally(() => {
        state.attempt = undefined;
      });
    },
  });
  const listenAgain = async (): Promise<void> => {
    // what is wrong with the database, every other query says
    await retry(() => session.client(), { signal: closing.signal, delayMs: () => retryEveryMs }).then(
      onAgain,
      () => undefined,
    );
  };
  return {
    listen: async (channel, onPayload) => {
      const client = await session.client();
      channels.set(channel, onPayload);
      await client.query(`listen ${escapeIdentifier(channel)}`);
    },
    close: async () => {
      closing.abort();
      await session.close();
      await state.attempt;
    },
  };
}

/** A computer that is gone says nothing: the server asks, and frees its locks after a minute. */
const keepalives = { tcp_keepalives_idle: '30', tcp_keepalives_interval: '10', tcp_keepalives_count: '3' };

/** Has the server watch over a connection that holds locks, and sets what else is given, for as long as it lasts. */
export async function setUpHolder(client: Client, others: Readonly<Record<string, string>> = {}): Promise<void> {
  const settings = { ...keepalives, ...others };
  await client.query(
    'select set_config(name, value, false) from unnest($1::text[], $2::text[]) as settings (name, value)',
    [Object.keys(settings), Object.values(settings)],
  );
}

/**
 * Waits for a lock, on a connection of its own.
 * @returns what releases it
 */
export async function waitForLock(url: string, name: string): Promise<() => Promise<void>> {
  const session = openSession(url, { onOpen: setUpHolder });
  try {
    await (await session.client()).query(`select pg_advisory_lock(${lockKey('$1')})`, [name]);
  } catch (error) {
    await session.close();
    throw error;
  }
  return () => session.close();
}
