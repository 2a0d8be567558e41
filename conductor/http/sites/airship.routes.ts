import { sql } from 'drizzle-orm';
import { Versions } from '#conductor/api/service.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { airshipPath } from '#conductor/http/sites/airship-values.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { inTime } from '#shared/in-time.ts';

const route = routesOf("site health (Airship's)");
const pingTimeoutMs = 2_000;

const versions = route.get(
  '/versions',
  "List the versions of Airship's interfaces that are served",
  answers(200, 'one', Versions),
);

const health = route.get(`${airshipPath}/health`, 'Say whether the conductor can serve', {
  ...answers(204, 'it can'),
  503: { description: 'it can not' },
});

/** Serves `/versions` and `/api/v1.0/health` (airship.md §4). */
export function airshipRoutes(app: ApiApp, { db, log, stopping }: Pick<HttpContext, 'db' | 'log' | 'stopping'>): void {
  app.openapi(versions, (c) => c.json({ 'v1.0': { path: airshipPath, status: 'stable' } }));

  app.openapi(health, async (c) => {
    try {
      await inTime(db.execute(sql`select 1`), pingTimeoutMs, { code: 'timeout', message: 'ask the database' });
      return c.body(null, stopping.aborted ? 503 : 204);
    } catch (error) {
      log.warn({ err: error, outcome: errorCode(error) }, 'the database does not answer');
      return c.body(null, 503);
    }
  });
}
