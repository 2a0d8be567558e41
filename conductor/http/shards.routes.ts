import { Shards } from '#conductor/api/node-parts.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { countShards } from '#conductor/nodes/count-shards.ts';

const route = routesOf('shards');

const since = 82;

const list = route.get(
  '/v1/shards',
  'Count the nodes of each shard',
  answers(200, 'shards; nodes without one count under the name None, as in Ironic', Shards),
);

/** `/v1/shards`. */
export function shardRoutes({ db }: Pick<HttpContext, 'db'>): ApiApp {
  const app = newApiApp();
  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), since);
    const shards = await countShards(db);
    return c.json({ shards: shards.map(({ shard, count }) => ({ name: shard ?? 'None', count })) });
  });
  return app;
}
