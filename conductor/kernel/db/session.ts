import type { Duplex } from 'node:stream';
import { Client } from 'pg';

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
export function openSession(url: string, { onOpen, onLost }: SessionOptions): Session {
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
