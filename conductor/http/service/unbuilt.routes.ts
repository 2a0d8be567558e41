import { Children } from '#conductor/api/service.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, onlySince, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const children = routesOf('not supported').get(
  '/v1/nodes/{node}/children',
  'List child nodes: there are none',
  answers(200, 'none', Children),
  { since: 83 },
);

interface Unbuilt {
  readonly path: string;
  readonly since: number;
  /** The thing that does the job here. */
  readonly instead: string;
}

/** Paths at which, and below which, every other request is refused, with advice. */
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

/** Answers for what Baton has not built: empty lists, and refusals that say so. Mounted last. */
export function unbuiltRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(children, async (c) => {
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    return c.json({ children: [], links: { href: `${originOf(c)}/v1/nodes?parent_node=${uuid}`, rel: 'children' } });
  });
  for (const { path, since, instead } of unbuilt) {
    for (const each of [path, `${path}/*`]) {
      app.all(each, onlySince({ since }), (c) => {
        const what = c.req.path.replace(/^\/?(v1\/)?/, '');
        throw new AppError('not_supported', `${what}: Baton does not support it. Instead: ${instead}.`);
      });
    }
  }
}
