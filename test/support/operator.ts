import { waitUntil } from '#test/lab/wait-until.ts';

type Json = Record<string, unknown>;

/** An operator's HTTP client: what tests and the lab drive a conductor with. */
export interface Operator {
  /** @throws Error with status and body for anything but 2xx. Answers `undefined` for an empty body. */
  call(method: string, path: string, body?: unknown): Promise<Json>;
  node(ident: string): Promise<Json>;
  provision(ident: string, target: string, more?: Json): Promise<void>;
  /**
   * Waits until the node rests, and fails with the whole node when that is in another state. A conductor that is down
   * meanwhile is waited for too.
   */
  waitForState(ident: string, state: string, timeoutMs?: number): Promise<Json>;
}

const microversion = '1.96';

export function createOperator(url: string): Operator {
  const call = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'X-OpenStack-Ironic-API-Version': microversion, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Json);
  };
  const node = (ident: string): Promise<Json> => call('GET', `/v1/nodes/${ident}`);
  return {
    call,
    node,
    provision: async (ident, target, more = {}) => {
      await call('PUT', `/v1/nodes/${ident}/states/provision`, { target, ...more });
    },
    waitForState: async (ident, state, timeoutMs = 30_000) => {
      const rested = await waitUntil(
        `node ${ident} to rest`,
        async () => {
          const current = await node(ident);
          return current['target_provision_state'] === null ? current : undefined;
        },
        { timeoutMs, everyMs: 100 },
      );
      if (rested['provision_state'] === state) return rested;
      throw new Error(`node ${ident} is ${JSON.stringify(rested)}, not ${state}`);
    },
  };
}
