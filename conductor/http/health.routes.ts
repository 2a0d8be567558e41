import { sql } from 'drizzle-orm';
import { Health } from '#conductor/api/service.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, answersOther, routesOf } from '#conductor/http/define-routes.ts';
import { inTime } from '#conductor/kernel/in-time.ts';
import { scrape } from '#conductor/kernel/metrics/scrape.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const route = routesOf('health');

const health = route.get(
  '/healthz',
  'Say that the process lives: it answers as long as its event loop turns',
  answers(200, 'it does', Health),
);

const ready = route.get('/readyz', 'Say whether to send requests here', {
  ...answers(200, 'yes', Health),
  503: { description: 'no: the checks say why' },
});

const metrics = route.get(
  '/metrics',
  "Metrics in Prometheus' text format",
  answersOther(200, 'docs/reference/metrics.md describes them', 'text/plain'),
);

/** A database that takes longer is of no use to a request either. */
const pingTimeoutMs = 2_000;
/** Strangers may ask: they cost the database one question in so many milliseconds. */
const rememberMs = 500;

type Check = 'ok' | 'failed';

/** What a check found: nothing, or the cause in words. */
type Finding = string | undefined;

/** `/healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const findDatabaseFault = remembering(() => checkDatabase(context));
  const scrapeOnce = sharing(() => scrape(context));

  app.openapi(health, (c) => c.json({ status: 'ok', checks: { process: 'ok' } }));

  app.openapi(ready, async (c) => {
    // the conductor listens only once the database is migrated
    const findings: Record<string, Finding> = {
      database: await findDatabaseFault(),
      migrations: undefined,
      not_stopping: context.stopping.aborted ? 'the conductor is stopping' : undefined,
    };
    const isReady = Object.values(findings).every((finding) => finding === undefined);
    // no reason to send requests elsewhere
    if (context.dhcp) findings['dhcp'] = context.dhcp.trouble();
    const check = (finding: Finding): Check => (finding === undefined ? 'ok' : 'failed');
    const failed = Object.entries(findings).filter(([, finding]) => finding !== undefined);
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
    return c.body(text, 200, { 'Content-Type': context.metrics.registry.contentType });
  });

  return app;
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
 * Whoever asks while an answer is being made gets that one: with BATON_METRICS=anybody strangers may ask, and each answer
 * reads all nodes twice.
 */
export function sharing<T>(ask: () => Promise<T>): () => Promise<T> {
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
