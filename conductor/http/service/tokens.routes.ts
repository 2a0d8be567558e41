import { z } from 'zod';
import { NewToken, Token, type TokenAnswer } from '#conductor/api/records.ts';
import { listApiTokens } from '#conductor/auth/api-tokens.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { roles } from '#conductor/kernel/caller.ts';
import type { ApiTokenRow } from '#conductor/kernel/db/schema/access.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("tokens (Baton's own)");
const path = '/v1/tokens';

const list = route.get(
  path,
  "List the API's bearer tokens, without the tokens themselves (Baton's own)",
  answers(200, 'tokens', z.strictObject({ tokens: z.array(Token) })),
);

const CreateBody = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.@-]{1,64}$/, 'must be up to 64 letters, digits and . _ - @')
    .describe('the user that history and logs show for it'),
  role: z.enum(roles, { error: `must be one of ${roles.join(', ')}` }),
  project: z.string().min(1).max(255).nullish().describe('sees and touches only what this owner or lessee has'),
  expires_at: z.iso.datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' }).nullish(),
});

const create = route.post(
  path,
  "Make a bearer token; this answer alone has it (Baton's own)",
  answers(201, 'the token', NewToken),
  { limits: 'usual', body: CreateBody },
);

const remove = route.delete(
  `${path}/{token}`,
  "Have a token not count any more, by name or UUID (Baton's own)",
  answers(204, 'deleted; other conductors notice within five seconds'),
);

function viewToken(row: ApiTokenRow): TokenAnswer {
  return {
    uuid: row.uuid,
    name: row.name,
    role: row.role,
    project: row.project,
    created_by: row.createdBy,
    created_at: apiTime(row.createdAt),
    expires_at: apiTime(row.expiresAt),
    last_used_at: apiTime(row.lastUsedAt),
  };
}

/** Serves `/v1/tokens`: for administrators (`conductor/auth/access-rules.ts`). */
export function tokenRoutes(app: ApiApp, { auth, clock, db }: Pick<HttpContext, 'auth' | 'clock' | 'db'>): void {
  app.openapi(list, async (c) => c.json({ tokens: (await listApiTokens(db)).map((row) => viewToken(row)) }));

  app.openapi(create, async (c) => {
    const { name, role, project, expires_at: expires } = c.req.valid('json');
    const expiresAt = expires === undefined || expires === null ? undefined : new Date(expires);
    if (expiresAt && expiresAt <= clock.now())
      throw new AppError('invalid_argument', 'expires_at must lie in the future');
    const { row, token } = await auth.tokens.create({
      name,
      role,
      project: project ?? undefined,
      expiresAt,
      createdBy: c.get('caller').user,
    });
    return c.json({ ...viewToken(row), token }, 201);
  });

  app.openapi(remove, async (c) => {
    await auth.tokens.remove(c.req.valid('param').token);
    return c.body(null, 204);
  });
}
