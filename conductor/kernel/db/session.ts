import type { Duplex } from 'node:stream';
import { Client, escapeIdentifier } from 'pg';
import { retry } from '#shared/retry.ts';

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

export interface SessionOptions {
  /** Before anybody gets the connection. */
  readonly onOpen?: (client: Client) => Promise<void>;
  readonly onLost?: () => void;
}

/** For what belongs to a connection and not to a statement: locks, `LISTEN`. */
function openSession(url: string, { onOpen, onLost }: SessionOptions): Session {
  const state: { opened?: Promise<Client> | undefined; isClosed: boolean } = { isClosed: false };
  const open = async (): Promise<Client> => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis,
    });
    client.on('error', () => undefined); // 'end' follows
    client.on('end', () => {
      state.opened = undefined;
      if (!state.isClosed) onLost?.();
    });
    await client.connect();
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
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
  const timer = setTimeout(() => stream.destroy(), goodbyeMs);
  await client.end();
  clearTimeout(timer);
}

const retryEveryMs = 1_000;

export interface Listener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  close(): Promise<void>;
}

/** `LISTEN` on a connection of its own, again and again whenever that is lost. */
export function keepListening(url: string): Listener {
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
    await retry(() => session.client(), { signal: closing.signal, delayMs: () => retryEveryMs }).catch(() => undefined);
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

/** A lock that ends with the process that holds it, whatever becomes of that: PostgreSQL's, bound to a connection. */
export interface SessionLock {
  /** Takes the lock, or takes it again after the connection was lost; `false` while another process holds it. */
  take(): Promise<boolean>;
  wait(): Promise<void>;
  release(): Promise<void>;
}

/** A computer that is gone says nothing: the server asks, and frees its locks after a minute. */
const keepalives = `select set_config(name, value, false) from (values
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')) as settings (name, value)`;

export function createSessionLock(url: string, name: string): SessionLock {
  const state = { isHeld: false };
  const session = openSession(url, {
    onOpen: async (client) => void (await client.query(keepalives)),
    // the lock goes with the connection
    onLost: () => {
      state.isHeld = false;
    },
  });
  const key = `hashtextextended($1, 0)`;
  const values = [`baton ${name}`];
  return {
    take: async () => {
      if (state.isHeld) return true;
      const client = await session.client();
      const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${key}) as taken`, values);
      state.isHeld = rows[0]?.taken === true;
      return state.isHeld;
    },
    wait: async () => {
      const client = await session.client();
      await client.query(`select pg_advisory_lock(${key})`, values);
      state.isHeld = true;
    },
    release: () => session.close(),
  };
}
