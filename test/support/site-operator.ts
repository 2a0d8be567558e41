import type { ActionAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** An operator's client of what is below `/api/v1.0/`: documents, credentials, actions. */
export interface SiteOperator {
  /** @throws Error with status and body for anything but 2xx; answers `undefined` for an empty body */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  setCredential(name: string, account: { readonly username: string; readonly password: string }): Promise<void>;
  /** Into the buffer, in place of what it has, and committed. */
  commit(collection: string, yaml: string): Promise<void>;
  /** Answers its id. What was committed and never acted on, by a test before this one, is not an obstacle. */
  createAction(name: ActionAnswer['name'], parameters?: Readonly<Record<string, unknown>>): Promise<string>;
  action(id: string): Promise<ActionAnswer>;
  actionNodes(id: string): Promise<ActionNodeAnswer[]>;
  control(id: string, verb: 'pause' | 'unpause' | 'stop'): Promise<void>;
  /** Waits until it has ended. A conductor that is down meanwhile is waited for too. */
  waitForEnd(id: string, timeoutMs?: number, everyMs?: number): Promise<ActionAnswer>;
}

/** @param token where callers need one */
export function createSiteOperator(url: string, token?: string): SiteOperator {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const send = async <T>(method: string, path: string, type: string, body?: string): Promise<T> => {
    const answer = await fetch(`${url}/api/v1.0${path}`, {
      method,
      headers: { ...authorization, ...(body === undefined ? {} : { 'Content-Type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const call = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    send(method, path, 'application/json', body === undefined ? undefined : JSON.stringify(body));
  const action = (id: string): Promise<ActionAnswer> => call('GET', `/actions/${id}`);
  return {
    call,
    setCredential: async (name, account) => {
      await call('PUT', `/credentials/${name}`, account);
    },
    commit: async (collection, yaml) => {
      await send('POST', `/configdocs/${collection}?buffermode=replace`, 'application/x-yaml', yaml);
      await call('POST', '/commitconfigdocs');
    },
    createAction: async (name, parameters = {}) =>
      (await call<ActionAnswer>('POST', '/actions?allow-intermediate-commits=true', { name, parameters })).id,
    action,
    actionNodes: async (id) => (await call<{ nodes: ActionNodeAnswer[] }>('GET', `/actions/${id}/nodes`)).nodes,
    control: async (id, verb) => {
      await call('POST', `/actions/${id}/control/${verb}`);
    },
    waitForEnd: (id, timeoutMs, everyMs = 100) =>
      waitUntil(
        `action ${id} to end`,
        async () => {
          const seen = await action(id);
          return seen.ended_at === null ? undefined : seen;
        },
        { timeoutMs, everyMs },
      ),
  };
}
