import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { readCredentials } from '#conductor/auth/authenticator.ts';
import type { Credentials, Sessions } from '#conductor/auth/sessions.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Pages of other sites can't send it without asking first, and nobody answers them. */
export const boardHeader = 'X-Baton-Board';

type CookieConfig = Pick<HttpContext['config'], 'tls' | 'publicUrl'>;

function isSecure({ tls, publicUrl }: CookieConfig): boolean {
  return tls !== undefined || publicUrl.startsWith('https:');
}

/** Browsers take a cookie with the prefix only by TLS and from this very host. */
const nameOf = (config: CookieConfig): string => (isSecure(config) ? '__Host-baton' : 'baton');

export function sessionCookie(c: Context, config: CookieConfig): string | undefined {
  return getCookie(c, nameOf(config));
}

export function setSessionCookie(c: Context, config: CookieConfig, cookie: string, endsAt: Date): void {
  setCookie(c, nameOf(config), cookie, { ...attributes(config), expires: endsAt });
}

export function clearSessionCookie(c: Context, config: CookieConfig): void {
  deleteCookie(c, nameOf(config), attributes(config));
}

const attributes = (config: CookieConfig) =>
  ({ httpOnly: true, sameSite: 'Strict', path: '/', secure: isSecure(config) }) as const;

/**
 * What proves who sends the request: a header, or else a browser's session, which pages of other sites could use too.
 * @throws AppError `invalid_argument` for a header that can't be read, `forbidden` for a change by a session that has not
 * surely come from the board.
 */
export async function credentialsOf(
  c: Context,
  { config, sessions }: { readonly config: CookieConfig; readonly sessions: Sessions },
): Promise<Credentials | undefined> {
  const shown = readCredentials((name) => c.req.header(name));
  if (shown) return shown;
  const cookie = sessionCookie(c, config);
  if (cookie === undefined) return undefined;
  if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireBoard(c);
  return sessions.find(cookie);
}

/** A foreign `Origin` is refused for all requests before. @throws AppError `forbidden` */
function requireBoard(c: Context): void {
  const isOwnPage = (c.req.header('sec-fetch-site') ?? 'same-origin') === 'same-origin' && c.req.header('origin');
  if (isOwnPage && c.req.header(boardHeader) !== undefined) return;
  throw new AppError(
    'forbidden',
    `Changes by a browser's session need the header ${boardHeader}, and Origin with the conductor's own address.`,
  );
}
