import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { SettingInForce } from '#conductor/api/records.ts';
import { Health, Root, VersionRoot } from '#conductor/api/service.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import {
  type ApiApp,
  answers,
  answersOther,
  linksTo,
  originOf,
  routesOf,
} from '#conductor/http/routing/define-routes.ts';
import { maximumMinor, minimumMinor } from '#conductor/http/routing/versions.ts';
import { scrape } from '#conductor/kernel/metrics/scrape.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { inTime } from '#shared/in-time.ts';

const versionRoute = routesOf('versions');

const root = versionRoute.get(
  '/',
  'Say which versions of the API there are',
  answers(200, 'the version document', Root),
);

const v1 = versionRoute.get('/v1', 'Show version 1 of the API', answers(200, 'the version document', VersionRoot));

/** Resources that the v1 document names, with the microversion since which. */
const resources = {
  chassis: 1,
  nodes: 1,
  ports: 1,
  drivers: 1,
  lookup: 22,
  heartbeat: 22,
  portgroups: 23,
  volume: 32,
  conductors: 49,
  allocations: 52,
  deploy_templates: 55,
  shards: 82,
  continue_inspection: 84,
  runbooks: 92,
  inspection_rules: 96,
} as const satisfies Partial<Record<keyof z.infer<typeof VersionRoot>, number>>;

function versionDocument(origin: string) {
  return {
    id: 'v1',
    links: [{ href: `${origin}/v1/`, rel: 'self' }],
    status: 'CURRENT',
    min_version: `1.${minimumMinor}`,
    version: `1.${maximumMinor}`,
  };
}

/** Serves `/` and `/v1`, which clients read before anything else (ironic-api.md §1.1). */
export function rootRoutes(app: ApiApp): void {
  app.openapi(root, (c) => {
    const version = versionDocument(originOf(c));
    return c.json({
      name: 'OpenStack Ironic API',
      description: "Baton: bare-metal provisioning that speaks Ironic's API.",
      default_version: version,
      versions: [version],
    });
  });

  app.openapi(v1, (c) => {
    const origin = originOf(c);
    const version = c.get('version');
    const present = Object.entries(resources).filter(([, since]) => since <= version);
    return c.json({
      id: 'v1',
      links: [{ href: `${origin}/v1/`, rel: 'self' }],
      media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic.v1+json' }],
      ...Object.fromEntries(present.map(([name]) => [name, linksTo(origin, `${name}/`)])),
      version: versionDocument(origin),
    });
  });
}

const healthRoute = routesOf('health');

const health = healthRoute.get(
  '/healthz',
  'Say that the process lives: it answers as long as its event loop turns',
  answers(200, 'it does', Health),
);

const ready = healthRoute.get('/readyz', 'Say whether to send requests here', {
  ...answers(200, 'yes', Health),
  ...answers(503, 'no: the checks say why', Health),
});

const metrics = healthRoute.get(
  '/metrics',
  "Metrics in Prometheus' text format",
  answersOther(200, 'docs/reference/metrics.md describes them', 'text/plain'),
);

/** A database that takes longer is of no use to a request either. */
const pingTimeoutMs = 2_000;
/** Strangers may ask: they cost the database one question in so many milliseconds. */
const rememberMs = 500;

type Check = 'ok' | 'failed';

/** Finding of a check: nothing, or the cause in words. */
type Finding = string | undefined;

/** Serves `/healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(app: ApiApp, context: HttpContext): void {
  const findDatabaseFault = remembering(() => checkDatabase(context));
  const findLoss = remembering(() => context.database.loss().catch(() => undefined));
  const scrapeOnce = shareAnswer(() => scrape(context));

  app.openapi(health, (c) => c.json({ status: 'ok', checks: { process: 'ok' } }));

  app.openapi(ready, async (c) => {
    // the conductor listens only once the database is migrated
    const findings: Record<string, Finding> = {
      database: context.database.life.trouble() ?? (await findDatabaseFault()),
      migrations: undefined,
      not_stopping: context.stopping.aborted ? 'the conductor is stopping' : undefined,
    };
    const isReady = Object.values(findings).every((finding) => finding === undefined);
    // no reason to send requests elsewhere
    const loss = await findLoss();
    if (loss !== undefined) findings['answered'] = loss;
    if (context.connections) findings['connections'] = context.connections.trouble();
    if (context.certificate) findings['certificate'] = context.certificate.trouble();
    if (context.peerCertificates) findings['peer_certificates'] = context.peerCertificates.trouble();
    if (context.dhcp) findings['dhcp'] = context.dhcp.trouble();
    const check = (finding: Finding): Check => (finding === undefined ? 'ok' : 'failed');
    const failed = Object.entries(findings).flatMap(([name, finding]) =>
      finding === undefined ? [] : [[name, finding] as const],
    );
    return c.json(
      {
        status: isReady ? 'ok' : 'not ready',
        checks: Object.fromEntries(Object.entries(findings).map(([name, finding]) => [name, check(finding)])),
        ...(failed.length === 0 ? {} : { causes: Object.fromEntries(failed) }),
      },
      isReady ? 200 : 503,
    );
  });

  app.openapi(metrics, async (c) => {
    if (context.config.metrics === 'off') throw new AppError('not_found', 'Metrics are turned off (BATON_METRICS).');
    const text = await scrapeOnce();
    return c.text(text, 200, { 'Content-Type': context.metrics.registry.contentType });
  });
}

async function checkDatabase({ db, database, log }: Pick<HttpContext, 'db' | 'database' | 'log'>): Promise<Finding> {
  const late = { code: 'timeout', message: `the database gave no answer within ${pingTimeoutMs / 1000} s` } as const;
  try {
    const fault = await inTime(database.fault(), pingTimeoutMs, late);
    if (fault !== undefined) {
      log.warn({ fault }, 'not ready: the database is at fault');
      return fault;
    }
    await inTime(db.execute(sql`select 1`), pingTimeoutMs, late);
    return undefined;
  } catch (error) {
    log.warn({ err: error, outcome: errorCode(error) }, 'not ready: the database does not answer');
    return 'the database does not answer; the log says why';
  }
}

/**
 * Shares an answer: callers that ask while it is being made get the same one: with BATON_METRICS=anybody strangers may ask,
 * and each answer reads all nodes twice.
 */
export function shareAnswer<T>(ask: () => Promise<T>): () => Promise<T> {
  const state: { underWay?: Promise<T> | undefined } = {};
  return () => {
    state.underWay ??= ask().finally(() => {
      state.underWay = undefined;
    });
    return state.underWay;
  };
}

/** One question at a time, whose answer counts for a moment. */
function remembering<T>(ask: () => Promise<T>): () => Promise<T> {
  const memory: { answer?: Promise<T>; at: number } = { at: 0 };
  return () => {
    const now = performance.now();
    if (memory.answer === undefined || now - memory.at > rememberMs) Object.assign(memory, { answer: ask(), at: now });
    return memory.answer as Promise<T>;
  };
}

const settingsRoute = routesOf("settings (Baton's own)");

const list = settingsRoute.get(
  '/v1/settings',
  'List the settings in force on the conductor that answers, without logins',
  answers(200, 'settings', z.strictObject({ conductor: z.string(), settings: z.array(SettingInForce) })),
);

/** Serves `GET /v1/settings`. */
export function settingsRoutes(app: ApiApp, { config }: Pick<HttpContext, 'config'>): void {
  app.openapi(list, (c) => c.json({ conductor: config.conductorName, settings: [...config.settings] }));
}
