import { type OpenCommandLine, shortenAnswer } from '#conductor/networks/switches/command-line/command-line.ts';
import { type HttpsClient, openHttps } from '#conductor/networks/switches/https/https-client.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { PeerRequest } from '#shared/peers/ask-peer.ts';

/**
 * A REST API with sessions, as AOS-CX has it: a command is `METHOD /path JSON`, its output the answer's body. The session is
 * ended with the command line, for a switch has few.
 * @param base `/rest/v10.04`
 */
export function restSession(base: string): OpenCommandLine {
  return async (access, signal) => {
    const { endpoint } = access;
    const https = await openHttps(access);
    const headers = await logIn(https, base, endpoint, signal).catch((error: unknown) => {
      https.close();
      throw error;
    });
    const state = { isClosed: false };
    /** The session's further connections. */
    const others: HttpsClient[] = [];
    /** A connection that was lost ends no session. */
    const logOut = async (): Promise<void> => {
      state.isClosed = true;
      for (const lane of others) lane.close();
      const open = https.isClosed() ? await openHttps(access) : https;
      const request = { method: 'POST', path: `${base}/logout`, headers } as const;
      await open.ask(request, undefined).finally(() => open.close());
    };
    // what fails here, the switch ends when it is idle
    const close = (): void => void (state.isClosed || logOut().catch(() => undefined));
    const ask = async (lane: HttpsClient, command: string, stop: AbortSignal | undefined): Promise<string> => {
      const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/s.exec(command) ?? [];
      const request = { method: method as PeerRequest['method'], path: `${base}${path}`, headers, body };
      const answer = await lane.ask({ ...request, inSession: true }, stop);
      // what is to go may have gone
      if (answer.status < 300 || (method === 'DELETE' && answer.status === 404)) return answer.text();
      if (method === 'GET' && answer.status === 404) return noResource;
      const words = shortenAnswer(answer.text()) || `HTTP ${answer.status}`;
      throw new AppError('switch_error', `switch ${endpoint} refused ${command}: ${words}`);
    };
    /** Ends when nothing is under way any more: what still was would take effect after what follows a failure. */
    const askAll = async (commands: readonly string[], stop: AbortSignal | undefined): Promise<string[]> => {
      const count = Math.min(commands.length, mostConnections);
      while (others.length + 1 < count) others.push(await openHttps(access));
      const left = [...commands.entries()].toReversed();
      const outputs: string[] = [];
      const work = async (lane: HttpsClient): Promise<void> => {
        for (let next = left.pop(); next; next = left.pop()) {
          outputs[next[0]] = await ask(lane, next[1], stop).catch((error: unknown) => {
            left.length = 0;
            throw error;
          });
        }
      };
      const lanes = [https, ...others].slice(0, count);
      const ends = await Promise.allSettled(lanes.map(work));
      if (lanes.some((lane) => lane.isClosed())) close();
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
      return outputs;
    };
    return {
      run: async (commands, stop) => {
        const outputs: string[] = [];
        while (outputs.length < commands.length) {
          outputs.push(...(await askAll(alike(commands.slice(outputs.length)), stop)));
        }
        return outputs;
      },
      isClosed: () => state.isClosed,
      close,
    };
  };
}

/** The answer of a model that lacks the resource. */
const noResource = 'null';

/** On which requests that are alike go at the same time. */
const mostConnections = 6;

/** The first command, and those after it that do the same to another resource: what order these are in is of no account. */
function alike(commands: readonly string[]): readonly string[] {
  const forms = commands.map((command) => /^(PATCH) (\S+) (.*)$/s.exec(command));
  const [first] = forms;
  const other = forms.findIndex((form) => form?.[1] !== first?.[1] || form?.[3] !== first?.[3]);
  return first ? commands.slice(0, other < 0 ? commands.length : other) : commands.slice(0, 1);
}

/** Logs in, and gives the headers that each request of the session carries. */
async function logIn(
  https: HttpsClient,
  base: string,
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>>> {
  const answer = await https.ask(
    {
      method: 'POST',
      path: `${base}/login`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-use-csrf-token': 'true' },
      body: new URLSearchParams({ username: https.username, password: https.password }).toString(),
    },
    signal,
  );
  const cookies = [answer.headers['set-cookie'] ?? []].flat().flatMap((cookie) => cookie.split(';')[0] ?? []);
  if (answer.status >= 300 || cookies.length === 0) {
    throw new AppError(
      'switch_error',
      `switch ${endpoint} opened no session: HTTP ${answer.status} ${shortenAnswer(answer.text())}`,
    );
  }
  const token = answer.headers['x-csrf-token'];
  return { cookie: cookies.join('; '), ...(typeof token === 'string' ? { 'x-csrf-token': token } : {}) };
}
