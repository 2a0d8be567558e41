import { systemClock } from '#shared/clock.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

type Json = Record<string, unknown>;

/** An operator's HTTP client: what tests and the lab drive a conductor with. */
export interface Operator {
  /** @throws Error with status and body for anything but 2xx. Answers `undefined` for an empty body. */
  call(method: string, path: string, body?: unknown): Promise<Json>;
  node(ident: string): Promise<Json>;
  /** How often a 409 or 503 has been tried again. */
  retries(): number;
  provision(ident: string, target: string, more?: Json): Promise<void>;
  /**
   * Waits until the node rests and no conductor is at it, which lets go of it a moment after the record of the end. Fails
   * with the whole node when that is in another state. A conductor that is down meanwhile is waited for too.
   */
  waitForState(ident: string, state: string, timeoutMs?: number): Promise<Json>;
  /** The same, whatever the state. */
  waitForRest(ident: string, timeoutMs?: number): Promise<Json>;
}

export interface OperatorOptions {
  /**
   * Tries 409 (a conductor is at the node) and 503 again, as clients do by themselves: `baremetal` five times, two seconds
   * apart (ironic-api.md §1.3).
   */
  readonly retries?: number;
  /** Where callers need one. */
  readonly token?: string;
}

const microversion = '1.110';
const retryEveryMs = 2_000;

/** No flow is under way, and no conductor is at the node. */
export function isAtRest(node: Json): boolean {
  return node['target_provision_state'] === null && node['reservation'] === null;
}

export function createOperator(url: string, { retries = 0, token }: OperatorOptions = {}): Operator {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const state = { retries: 0 };
  const send = async (method: string, path: string, body: unknown, left: number): Promise<Response> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...authorization,
        'X-OpenStack-Ironic-API-Version': microversion,
        'Content-Type': 'application/json',
        // a busy machine sends on a connection that the conductor has just closed for being idle
        Connection: 'close',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (left === 0 || ![409, 503].includes(answer.status)) return answer;
    state.retries += 1;
    await systemClock.sleep(retryEveryMs);
    return send(method, path, body, left - 1);
  };
  const call = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await send(method, path, body, retries);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Json);
  };
  const node = (ident: string): Promise<Json> => call('GET', `/v1/nodes/${ident}`);
  const waitForRest = (ident: string, timeoutMs?: number): Promise<Json> =>
    waitUntil(
      `node ${ident} to rest`,
      async () => {
        const current = await node(ident);
        return isAtRest(current) ? current : undefined;
      },
      { timeoutMs, everyMs: 100 },
    );
  return {
    call,
    node,
    waitForRest,
    retries: () => state.retries,
    provision: async (ident, target, more = {}) => {
      await call('PUT', `/v1/nodes/${ident}/states/provision`, { target, ...more });
    },
    waitForState: async (ident, state, timeoutMs) => {
      const rested = await waitForRest(ident, timeoutMs);
      if (rested['provision_state'] === state) return rested;
      throw new Error(`node ${ident} is ${JSON.stringify(rested)}, not ${state}`);
    },
  };
}
