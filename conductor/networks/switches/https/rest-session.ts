import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { type OpenCommandLine, oneByOne, shortened } from '#conductor/networks/switches/command-line/command-line.ts';
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
    const headers = await logIn(https, base, access, signal).catch((error: unknown) => {
      https.close();
      throw error;
    });
    const state = { isClosed: false };
    /** A connection that was lost ends no session. */
    const logOut = async (): Promise<void> => {
      state.isClosed = true;
      const open = https.isClosed() ? await openHttps(access) : https;
      const request = { method: 'POST', path: `${base}/logout`, headers } as const;
      await open.ask(request, undefined).finally(() => open.close());
    };
    // what fails here, the switch ends when it is idle
    const close = (): void => void (state.isClosed || logOut().catch(() => undefined));
    return {
      run: oneByOne(async (command, stop) => {
        const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/s.exec(command) ?? [];
        const request = {
          method: method as PeerRequest['method'],
          path: `${base}${path}`,
          headers,
          body,
          inSession: true as const,
        };
        const answer = await https.ask(request, stop).finally(() => {
          if (https.isClosed()) close();
        });
        if (answer.status < 300) return answer.text();
        const words = shortened(answer.text()) || `HTTP ${answer.status}`;
        throw new AppError('switch_error', `switch ${endpoint} refused ${command}: ${words}`);
      }),
      isClosed: () => state.isClosed,
      close,
    };
  };
}

/** What each request of the session carries. */
async function logIn(
  https: HttpsClient,
  base: string,
  { endpoint, login }: SwitchAccess,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>>> {
  const answer = await https.ask(
    {
      method: 'POST',
      path: `${base}/login`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-use-csrf-token': 'true' },
      body: new URLSearchParams({ username: login?.username ?? '', password: https.password }).toString(),
    },
    signal,
  );
  const cookies = [answer.headers['set-cookie'] ?? []].flat().flatMap((cookie) => cookie.split(';')[0] ?? []);
  if (answer.status >= 300 || cookies.length === 0) {
    throw new AppError(
      'switch_error',
      `switch ${endpoint} opened no session: HTTP ${answer.status} ${shortened(answer.text())}`,
    );
  }
  const token = answer.headers['x-csrf-token'];
  return { cookie: cookies.join('; '), ...(typeof token === 'string' ? { 'x-csrf-token': token } : {}) };
}
