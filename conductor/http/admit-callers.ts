import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { AccessRule } from '#conductor/auth/access.ts';
import { accessRules } from '#conductor/auth/access-rules.ts';
import { indexRules, judgeAccess, requireFieldRights } from '#conductor/auth/authorize.ts';
import { createFailureLimit, type FailureLimit } from '#conductor/auth/failure-limit.ts';
import {
  admitStrangers,
  isLiteralHost,
  requireKnownHost,
  sourceOf,
  tooMany,
} from '#conductor/http/doors/admit-strangers.ts';
import { readCallersBodies, readStrangersBodies, rowsOf } from '#conductor/http/doors/read-body.ts';
import { requireStorableText } from '#conductor/http/doors/request-middleware.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import type { ApiApp } from '#conductor/http/routing/define-routes.ts';
import { applicationFault, isAirshipPath } from '#conductor/http/routing/error-answers.ts';
import { boardHeader, credentialsOf } from '#conductor/http/service/session.routes.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { accessDenied } from '#conductor/kernel/caller.ts';
import { JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { findOwnership, notFound } from '#conductor/nodes/node-ownership.ts';
import { AppError } from '#shared/errors/app-error.ts';

type AdmitContext = Pick<HttpContext, 'auth' | 'config' | 'clock' | 'db' | 'log'>;
type ApiContext = Context<ApiEnv>;

const rules = indexRules(accessRules);

/**
 * Lets through who may (`conductor/auth/access-rules.ts`), and says who it is as `c.get('caller')`: 401 for strangers,
 * 403 or 404 for others, 429 for who fails too often. What strangers may do they may, as long as it does not fail too
 * often. Nothing of a body is read before.
 */
export function admitCallers(app: ApiApp, context: AdmitContext): MiddlewareHandler<ApiEnv> {
  const { config } = context;
  const isOpen = (rule: AccessRule): boolean =>
    rule.access === 'public' || (rule.policy === 'baton:metrics' && config.metrics === 'anybody');
  const letStrangersIn = admitStrangers(context, (...refusal) => void noteRefusal(context, ...refusal));
  const readStrangersBody = readStrangersBodies();
  const readCallersBody = readCallersBodies();
  const rowOf = rowsOf(app);
  const identify = identifyCallers(context);
  return async (c, next) => {
    const rule = ruleOf(c);
    if (rule && isOpen(rule)) {
      // agents have the conductor's own address; a page that reaches it by a name of its own could ask for their tokens
      if (context.auth.unproven && /^\/v1\/(?:lookup|attestations)/.test(rule.path)) requireKnownHost(c, config);
      const go = async (): Promise<void> => {
        // what a machine says of itself is mended where it is stored: nobody can correct it
        if (rule.path !== '/v1/continue_inspection') await requireStorableText(c);
        await next();
      };
      return letStrangersIn(c, async () => answerWith(c, await readStrangersBody(c, rowOf(c), go)));
    }
    requireOwnPage(c, config.publicUrl);
    if (context.auth.unproven) requireKnownHost(c, config);
    const caller = context.auth.unproven ?? (await identify(c));
    if (caller instanceof Response) return caller;
    c.set('caller', { ...caller, requestId: c.get('requestId'), globalRequestId: c.get('globalRequestId') });
    if (!rule && hasOwnRoute(c)) throw accessDenied('an operation without a rule', caller, undefined);
    return readCallersBody(c, rowOf(c), async () => {
      // before the database is asked whose the node is
      await requireStorableText(c);
      if (rule) await authorize(context, c, rule, caller);
      await next();
    });
  };
}

/** Sets what a middleware inside another one has answered, for the outer one to look at. */
function answerWith(c: ApiContext, answer: Response | void): void {
  // hono's own `next` gives the context back
  if (answer instanceof Response) c.res = answer;
}

/** Identifies the sender, or refuses. */
function identifyCallers(context: AdmitContext): (c: ApiContext) => Promise<Caller | Response> {
  const { auth, clock, config, log } = context;
  const perMinute = config.auth.loginFailuresPerMinute;
  const failures: FailureLimit = createFailureLimit({
    perSecond: perMinute / 60,
    reserve: perMinute,
    debt: perMinute * 4,
    now: () => clock.now().getTime(),
  });
  const unauthorized = (c: ApiContext, message: string): Response => {
    // a browser that reads `Basic` asks for a password by itself, over the board's own login
    const scheme = auth.method === 'http_basic' && c.req.header(boardHeader) === undefined ? 'Basic' : 'Bearer';
    c.header('WWW-Authenticate', `${scheme} realm="Baremetal API"`);
    if (isAirshipPath(c.req.path)) return applicationFault(c, 401, message);
    const inner = { faultcode: 'Client', faultstring: message, debuginfo: null };
    // the first is how standalone Ironic says it, the second how the rest of the API does
    return c.json({ error: { message, code: 401 }, error_message: JSON.stringify(inner) }, 401);
  };
  return async (c) => {
    const credentials = await credentialsOf(c, { config, sessions: auth.sessions });
    if (!credentials) return unauthorized(c, 'Authorization required');
    const known = auth.recall(credentials);
    if (known) return known;
    const source = sourceOf(c);
    const wait = failures.waitSeconds(source);
    if (wait > 0) return tooMany(c, wait);
    const caller = await auth.check(credentials);
    if (caller) return caller;
    failures.fail(source);
    log.warn({ source, kind: credentials.kind, user: userOf(credentials) }, 'login failed');
    return unauthorized(
      c,
      credentials.kind === 'password' ? 'Incorrect username or password' : 'The token is not known, or has expired',
    );
  };
}

function userOf({ kind, text }: { readonly kind: string; readonly text: string }): string | undefined {
  return kind === 'password' ? text.slice(0, Math.min(text.indexOf(':'), 64)) : undefined;
}

function ruleOf(c: ApiContext): AccessRule | undefined {
  for (const { method, path } of matchedRoutes(c)) {
    const rule = rules.get(`${method} ${path}`);
    if (rule) return rule;
  }
  return undefined;
}

/** Recognizes routes of their own; those for all methods are middleware, or refuse what is not built. */
function hasOwnRoute(c: ApiContext): boolean {
  return matchedRoutes(c).some(({ method }) => method !== 'ALL');
}

/** @throws AppError `forbidden`, or `not_found` for what is hidden from the caller. */
async function authorize(
  { db }: Pick<AdmitContext, 'db'>,
  c: ApiContext,
  rule: AccessRule,
  caller: Caller,
): Promise<void> {
  if (rule.access === 'public') return;
  await requireVisibleFilters(db, c, rule, caller);
  const ident = caller.project === undefined ? undefined : await identIn(c, rule);
  const ownership =
    ident === undefined || !isOfNodes(rule.scope) ? undefined : await findOwnership(db, rule.scope, ident);
  if (ident !== undefined && isOfNodes(rule.scope) && !ownership) throw notFound(rule.scope, ident);
  const verdict = judgeAccess(rule.access, caller, ownership);
  if (verdict === 'hidden' && isOfNodes(rule.scope)) throw notFound(rule.scope, ident ?? '');
  if (verdict !== 'allowed') throw accessDenied(rule.policy, caller, verdict === 'hidden' ? undefined : verdict.needed);
  if (rule.policy !== 'baremetal:node:update' || (caller.role === 'admin' && caller.project === undefined)) return;
  requireFieldRights(await patchedFields(c), rule.policy, caller, ownership);
}

/** By the last segment of a list's path: what its `marker` is one of. */
const markerScopes: Readonly<Record<string, NodeScope>> = {
  nodes: 'node',
  ports: 'port',
  portgroups: 'portgroup',
  connectors: 'volume connector',
  targets: 'volume target',
};

/**
 * Returns whether a name is some other project's node's, no list shows, and none is measured by what is some other's.
 * @throws AppError `not_found`.
 */
async function requireVisibleFilters(
  db: AdmitContext['db'],
  c: ApiContext,
  rule: AccessRule,
  { project }: Caller,
): Promise<void> {
  if (project === undefined || rule.method !== 'GET') return;
  const list =
    rule.path
      .replace(/\/detail$/, '')
      .split('/')
      .at(-1) ?? '';
  const filters: readonly (readonly [NodeScope | undefined, string | undefined])[] = [
    ['node', rule.scope === 'handler' ? (c.req.query('node') ?? c.req.query('node_uuid')) : undefined],
    ['portgroup', c.req.query('portgroup')],
    [markerScopes[list], c.req.query('marker')],
  ];
  for (const [scope, ident] of filters) {
    if (scope === undefined || ident === undefined) continue;
    const ownership = await findOwnership(db, scope, ident);
    if (ownership?.owner !== project && ownership?.lessee !== project) throw notFound(scope, ident);
  }
}

type NodeScope = Exclude<AccessRule['scope'], 'none' | 'handler'>;

function isOfNodes(scope: AccessRule['scope']): scope is NodeScope {
  return scope !== 'none' && scope !== 'handler';
}

/** Finds the name or UUID that says what the request is about; `undefined` where it says nothing. */
async function identIn(c: ApiContext, rule: AccessRule): Promise<string | undefined> {
  if (rule.scope === 'none' || rule.scope === 'handler') return undefined;
  if (rule.scope === 'node in query') return c.req.query('node') ?? c.req.query('node_uuid');
  if (rule.scope === 'node in body') {
    const body = (await readJson(c)) as { node_uuid?: unknown; node_ident?: unknown } | null | undefined;
    const ident = body?.node_uuid ?? body?.node_ident;
    return ident === undefined || ident === null ? undefined : textOf(ident);
  }
  const place = rule.path.split('/').findIndex((segment) => segment.startsWith('{'));
  const segment = c.req.path.split('/')[place] ?? '';
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // no node is called so
  }
}

async function patchedFields(c: ApiContext): Promise<readonly string[]> {
  const patch = JsonPatch.safeParse(await readJson(c));
  return patch.success ? patchRoots(patch.data) : [];
}

/** The handler gets the same text again, and says what is wrong with it. */
async function readJson(c: ApiContext): Promise<unknown> {
  try {
    return (await c.req.json()) as unknown;
  } catch {
    return undefined; // no JSON: the handler refuses it in words
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * A page of another site that an operator's browser shows may send requests here, with the browser's stored password or
 * from this host, for whose users `BATON_AUTH=none` is.
 */
function requireOwnPage(c: ApiContext, publicUrl: string): void {
  const origin = c.req.header('origin');
  if (origin === undefined || origin === new URL(publicUrl).origin) return;
  const own = URL.parse(origin)?.host;
  if (own !== undefined && own === c.req.header('host') && isLiteralHost(own)) return;
  throw new AppError(
    'forbidden',
    `Requests from pages of ${origin} are refused (Origin header): the API is for programs, and for its own pages.`,
  );
}
