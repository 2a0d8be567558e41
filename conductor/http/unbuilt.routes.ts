import type { z } from 'zod';
import { Children } from '#conductor/api/service.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/define-routes.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('not supported');

interface Unbuilt {
  readonly path: string;
  readonly since: number;
  /** What does the job here. */
  readonly instead: string;
}

/** Whatever else is asked of these paths, and of what lies below them, is refused with what to do instead. */
const unbuilt: readonly Unbuilt[] = [
  {
    path: '/v1/events',
    since: 54,
    instead: 'the conductor moves switch ports itself (network_interface switchport) and waits for no network service',
  },
  {
    path: '/v1/drivers/:driver/vendor_passthru',
    since: 1,
    instead: 'talk to the BMC itself',
  },
  {
    path: '/v1/nodes/:node/vendor_passthru',
    since: 1,
    instead: 'talk to the BMC itself; nodes with vendor_interface redfish have event subscriptions',
  },
];

/** What Baton has not built: empty lists, and refusals that say so. Mounted last. */
export function unbuiltRoutes(app: ApiApp, context: HttpContext): void {
  mountEmptyAnswers(app, context);
  for (const { path, since, instead } of unbuilt) {
    for (const each of [path, `${path}/*`]) {
      app.all(each, (c) => {
        requireEndpoint(c.get('version'), since);
        const what = c.req.path.replace(/^\/?(v1\/)?/, '');
        throw new AppError('not_supported', `${what}: Baton does not support it. Instead: ${instead}.`);
      });
    }
  }
}

function mountEmptyAnswers(app: ApiApp, context: HttpContext): void {
  const { db } = context;
  const get = <const Path extends string>(path: Path, summary: string, schema: z.ZodType) =>
    route.get(path, summary, answers(200, 'none', schema));

  app.openapi(get('/v1/nodes/{node}/children', 'List child nodes: there are none', Children), async (c) => {
    requireEndpoint(c.get('version'), 83);
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const href = `${originOf(c)}/v1/nodes?parent_node=${uuid}`;
    return c.json({ children: [], links: { href, rel: 'children' } });
  });
}
