import type { ConductorContext } from '#conductor/context.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Collections of Ironic's that Baton does not have: the list is empty, which is true and is what clients expect that
 * look through all of them (openstacksdk, exporters, web interfaces); making one is refused in words.
 */
const emptyCollections = [
  { path: '/v1/runbooks', key: 'runbooks', since: 92 },
  { path: '/v1/inspection_rules', key: 'inspection_rules', since: 96 },
] as const;

/** The same below a node. */
const emptyOfNode = [
  { path: 'firmware', key: 'firmware', since: 86 },
  { path: 'children', key: 'children', since: 83 },
] as const;

const unbuiltOfNode = ['states/console', 'management/indicators', 'vendor_passthru', 'vmedia', 'firmware'] as const;

const unbuilt = ['runbooks', 'inspection_rules', 'events'] as const;

/** What Baton has not built: empty lists, and refusals that say so. Mounted last. */
export function unbuiltRoutes(context: ConductorContext): ApiApp {
  const app = newApiApp();

  for (const { path, key, since } of emptyCollections) {
    app.get(path, (c) => {
      requireEndpoint(c.get('version'), since);
      return c.json({ [key]: [] });
    });
  }
  for (const { path, key, since } of emptyOfNode) {
    app.get(`/v1/nodes/:node/${path}`, async (c) => {
      requireEndpoint(c.get('version'), since);
      await getNode(context.db, c.req.param('node'));
      return c.json({ [key]: [] });
    });
  }
  const refuse = (what: string): never => {
    throw new AppError('not_supported', `${what}: Baton does not support it yet.`);
  };
  for (const path of unbuiltOfNode) {
    app.all(`/v1/nodes/:node/${path}`, () => refuse(path));
    app.all(`/v1/nodes/:node/${path}/*`, () => refuse(path));
  }
  for (const path of unbuilt) {
    app.all(`/v1/${path}`, () => refuse(path));
    app.all(`/v1/${path}/*`, () => refuse(path));
  }
  app.get('/v1/drivers/:driver/*', (c) => refuse(c.req.path.replace('/v1/', '')));
  return app;
}
