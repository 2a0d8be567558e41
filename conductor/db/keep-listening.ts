import postgres from 'postgres';
import { systemClock } from '#shared/clock.ts';

const retryEveryMs = 1_000;

/**
 * `LISTEN` on a connection of its own, again and again whenever that is lost. postgres.js' own `listen` comes back after
 * a broken connection, but gives up for ever when the server is down just then.
 */
export async function keepListening(
  url: string,
  channel: string,
  onPayload: (payload: string) => void,
): Promise<{ close(): Promise<void> }> {
  const closing = new AbortController();
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
    onnotify: (_channel: string, payload: string) => onPayload(payload),
  };
  const client = postgres(url, settings);
  const listen = async (): Promise<void> => {
    await client`listen ${client(channel)}`;
  };
  const listenAgain = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        return await listen();
      } catch {
        // what is wrong with the database, every other query says
        await systemClock.sleep(retryEveryMs, closing.signal).catch(() => undefined);
      }
    }
  };
  try {
    await listen();
  } catch (error) {
    closing.abort();
    await client.end({ timeout: 0 });
    throw error;
  }
  return {
    close: async () => {
      closing.abort();
      await client.end({ timeout: 1 });
      await attempt;
    },
  };
}
