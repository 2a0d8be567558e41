import postgres from 'postgres';
import { systemClock } from '#shared/clock.ts';

const retryEveryMs = 1_000;

export interface Listener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * `LISTEN` on a connection of its own, again and again whenever that is lost. postgres.js' own `listen` comes back after
 * a broken connection, but gives up for ever when the server is down just then.
 */
export function keepListening(url: string): Listener {
  const closing = new AbortController();
  const channels = new Map<string, (payload: string) => void>();
  let attempt: Promise<void> | undefined;
  const settings = {
    max: 1,
    max_lifetime: null,
    fetch_types: false,
    onclose: () => {
      attempt ??= listenAgain().finally(() => {
        attempt = undefined;
      });
    },
    // what postgres.js' `listen` hands to itself; not in its types
    onnotify: (channel: string, payload: string) => channels.get(channel)?.(payload),
  };
  const client = postgres(url, settings);
  const listen = async (channel: string): Promise<void> => {
    await client`listen ${client(channel)}`;
  };
  const listenAgain = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        for (const channel of channels.keys()) await listen(channel);
        return;
      } catch {
        // what is wrong with the database, every other query says
        await systemClock.sleep(retryEveryMs, closing.signal).catch(() => undefined);
      }
    }
  };
  return {
    listen: async (channel, onPayload) => {
      await listen(channel);
      channels.set(channel, onPayload);
    },
    close: async () => {
      closing.abort();
      await client.end({ timeout: 1 });
      await attempt;
    },
  };
}
