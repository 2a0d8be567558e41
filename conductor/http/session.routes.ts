import type { Context } from 'hono';
import { z } from 'zod';
import { readCredentials } from '#conductor/auth/authenticator.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { clearSessionCookie, sessionCookie, setSessionCookie } from '#conductor/http/session-cookie.ts';
import { roles } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

/** `/v1/session`: a browser's login, which a script of the page can't read. */
export function sessionRoutes({ auth, config }: Pick<HttpContext, 'auth' | 'config'>): ApiApp {
  const app = newApiApp();
  const view = (c: Context<ApiEnv>) => {
    const { user, role, project } = c.get('caller');
    return { user: user ?? null, role, project: project ?? null };
  };

  app.openapi(begin, async (c) => {
    if (auth.unproven)
      throw new AppError('invalid_argument', 'BATON_AUTH=none: nobody needs a session, everybody is an administrator');
    // who it is has been checked; a session that begets sessions would never end
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

  return app;
}
