import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import type { ClientSettings } from '#conductor/cli/shell/client-settings.ts';
import type { Clock } from '#shared/clock.ts';

/** Time after which an operator reads that nothing has come: a silence must not pass for a program that hangs. */
const silentMs = 2_000;

/** Asks a conductor why it does not answer; `undefined` = it does not say, or is well. */
type AskWhy = () => Promise<string | undefined>;

/**
 * Says once, on standard error, that the conductor has not answered for two seconds, and why, as soon as that is known.
 * A call that lasts as long as its work (`until`) has words of its own.
 */
export function notifyOfSilence(client: ApiClient, { url, clock, notify, askWhy }: SilenceOptions): ApiClient {
  const state = { isSaid: false };
  const say = async (answered: AbortSignal): Promise<void> => {
    await clock.sleep(silentMs, answered);
    if (answered.aborted || state.isSaid) return;
    state.isSaid = true;
    notify(`No answer from the conductor at ${url} for ${silentMs / 1000} s; waiting`);
    const why = await askWhy();
    if (why !== undefined && !answered.aborted) notify(`The conductor says: ${why}`);
  };
  return {
    ...client,
    call: async (...request) => {
      if (request[3]?.until) return client.call(...request);
      const answered = new AbortController();
      // an answer that comes first ends the sleep by an error, and nothing else can fail here
      void say(answered.signal).catch(() => undefined);
      try {
        return await client.call(...request);
      } finally {
        answered.abort();
      }
    },
  };
}

interface SilenceOptions {
  /** The conductor's. */
  readonly url: string;
  readonly clock: Clock;
  readonly notify: (line: string) => void;
  readonly askWhy: AskWhy;
}

/** Asks `/readyz`, which knows of a database that does not answer before any request does. */
export function whyNotReady({ url, authorities, insecure }: ClientSettings): AskWhy {
  return async () => {
    const undici = await import('undici');
    const connect = { rejectUnauthorized: !insecure, ...(authorities === undefined ? {} : { ca: authorities }) };
    const dispatcher = new undici.Agent({ connect });
    try {
      const answer = await undici.fetch(`${url}/readyz`, { dispatcher, signal: AbortSignal.timeout(10_000) });
      return causesIn(await answer.json());
    } finally {
      void dispatcher.destroy();
    }
  };
}

/** Finds why a conductor is not ready in what `/readyz` answers: `database: it does not answer`. */
export function causesIn(answer: unknown): string | undefined {
  const causes: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'causes') : undefined;
  if (typeof causes !== 'object' || causes === null) return undefined;
  const listed = Object.entries(causes).map(([name, cause]) => `${name}: ${String(cause)}`);
  return listed.length === 0 ? undefined : listed.join('; ');
}
