import { escapeIdentifier } from 'pg';
import { openSession } from '#conductor/kernel/db/session.ts';
import { retry } from '#shared/retry.ts';

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
