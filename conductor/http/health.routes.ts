import { createRoute } from '@hono/zod-openapi';
import { sql } from 'drizzle-orm';
import type { ConductorContext } from '#conductor/context.ts';
import { inTime } from '#conductor/db/in-time.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { answers } from '#conductor/http/query-values.ts';
import { scrape } from '#conductor/metrics/scrape.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const tags = ['health'];

const health = createRoute({
  method: 'get',
  path: '/healthz',
  tags,
  summary: 'Say that the process lives: it answers as long as its event loop turns',
  responses: answers(200, 'it does'),
});

const ready = createRoute({
  method: 'get',
  path: '/readyz',
  tags,
  summary: 'Say whether to send requests here',
  responses: { ...answers(200, 'yes'), 503: { description: 'no: the checks say why' } },
});

const metrics = createRoute({
  method: 'get',
  path: '/metrics',
  tags,
  summary: "Metrics in Prometheus' text format",
  responses: answers(200, 'conductor/metrics/metrics.md describes them'),
});

/** A database that takes longer is of no use to a request either. */
const pingTimeoutMs = 2_000;
/** Strangers may ask: they cost the database one question in so many milliseconds. */
const rememberMs = 500;

type Check = 'ok' | 'failed';

/** `/healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(context: ConductorContext): ApiApp {
  const app = newApiApp();
  const checkDatabase = remembering(() => pingDatabase(context));
  const scrapeOnce = sharing(() => scrape(context));

  app.openapi(health, (c) => c.json({ status: 'ok', checks: { process: 'ok' } }));

  app.openapi(ready, async (c) => {
    // the conductor listens only once the database is migrated
    const checks: Record<string, Check> = {
      database: await checkDatabase(),
      migrations: 'ok',
      not_stopping: context.stopping.aborted ? 'failed' : 'ok',
    };
    const isReady = Object.values(checks).every((check) => check === 'ok');
    return c.json({ status: isReady ? 'ok' : 'not ready', checks }, isReady ? 200 : 503);
  });

  app.openapi(metrics, async (c) => {
    if (context.config.metrics === 'off') throw new AppError('not_found', 'Metrics are turned off (BATON_METRICS).');
    const text = await scrapeOnce();
    return c.body(text, 200, { 'Content-Type': context.metrics.registry.contentType });
  });

  return app;
}

async function pingDatabase({ db, log }: Pick<ConductorContext, 'db' | 'log'>): Promise<Check> {
  try {
    await inTime(db.execute(sql`select 1`), pingTimeoutMs, { code: 'timeout', message: 'ask the database' });
    return 'ok';
  } catch (error) {
    log.warn({ err: error, outcome: errorCode(error) }, 'not ready: the database does not answer');
    return 'failed';
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
