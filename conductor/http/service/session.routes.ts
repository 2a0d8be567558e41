import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { readCredentials } from '#conductor/auth/authenticator.ts';
import type { Credentials, Sessions } from '#conductor/auth/sessions.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { roles } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Pages of other sites can't send it without asking first, and nobody answers them. */
export const boardHeader = 'X-Baton-Board';

type CookieConfig = Pick<HttpContext['config'], 'tls' | 'publicUrl'>;

function isSecure({ tls, publicUrl }: CookieConfig): boolean {
  return tls !== undefined || publicUrl.startsWith('https:');
}

/** Browsers take a cookie with the prefix only by TLS and from this very host. */
const nameOf = (config: CookieConfig): string => (isSecure(config) ? '__Host-baton' : 'baton');

function sessionCookie(c: Context, config: CookieConfig): string | undefined {
  return getCookie(c, nameOf(config));
}

function setSessionCookie(c: Context, config: CookieConfig, cookie: string, endsAt: Date): void {
  setCookie(c, nameOf(config), cookie, { ...attributes(config), expires: endsAt });
}

function clearSessionCookie(c: Context, config: CookieConfig): void {
  deleteCookie(c, nameOf(config), attributes(config));
}

const attributes = (config: CookieConfig) =>
  ({ httpOnly: true, sameSite: 'Strict', path: '/', secure: isSecure(config) }) as const;

/**
 * Finds what proves who sends the request: a header, or else a browser's session, which pages of other sites could use
 * too.
 * @throws AppError `invalid_argument` for a header that can't be read, `forbidden` for a change by a session that has
 * not surely come from the board.
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

const path = '/v1/session';
const route = routesOf("sessions (Baton's own)");

const Session = z.strictObject({
  user: z.string().nullable().describe('as history shows it'),
  role: z.enum(roles),
  project: z.string().nullable().describe('sees and touches only what this owner or lessee has'),
});

const begin = route.post(
  path,
  "Log a browser in: a cookie that stands for the request's Authorization header for twelve hours",
  answers(201, 'who has logged in', Session),
  {
    description:
      'The cookie is HttpOnly and SameSite=Strict, and Secure under TLS. It ends with its token or password, and by DELETE. ' +
      "Changes by it need the header X-Baton-Board and the conductor's own Origin.",
  },
);

const show = route.get(path, 'Show who asks, and with which role', answers(200, 'the caller', Session));

const end = route.delete(
  path,
  "Log a browser out: its session's cookie counts no more",
  answers(204, 'ended; other conductors notice within five seconds'),
);

/** Serves `/v1/session`: a browser's login, which a script of the page can't read. */
export function sessionRoutes(app: ApiApp, { auth, config }: Pick<HttpContext, 'auth' | 'config'>): void {
  const view = (c: Context<ApiEnv>) => {
    const { user, role, project } = c.get('caller');
    return { user: user ?? null, role, project: project ?? null };
  };

  app.openapi(begin, async (c) => {
    if (auth.unproven)
      throw new AppError('invalid_argument', 'BATON_AUTH=none: nobody needs a session, everybody is an administrator');
    // the caller is authenticated; a session must not create another session
    const credentials = readCredentials((name) => c.req.header(name));
    if (!credentials)
      throw new AppError('invalid_argument', 'A session begins with an Authorization header, not with another session');
    const former = sessionCookie(c, config);
    if (former !== undefined) await auth.sessions.end(former);
    const { cookie, endsAt } = await auth.sessions.begin(credentials);
    setSessionCookie(c, config, cookie, endsAt);
    return c.json(view(c), 201);
  });

  app.openapi(show, (c) => c.json(view(c)));

  app.openapi(end, async (c) => {
    const cookie = sessionCookie(c, config);
    if (cookie !== undefined) await auth.sessions.end(cookie);
    clearSessionCookie(c, config);
    return c.body(null, 204);
  });
}
