import { Root, VersionRoot } from '#conductor/api/service.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { maximumMinor, minimumMinor } from '#conductor/http/versions.ts';

const route = routesOf('versions');

const root = route.get('/', 'Say which versions of the API there are', answers(200, 'the version document', Root));

const v1 = route.get('/v1', 'Show version 1 of the API', answers(200, 'the version document', VersionRoot));

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
} as const;

function versionDocument(origin: string) {
  return {
    id: 'v1',
    links: [{ href: `${origin}/v1/`, rel: 'self' }],
    status: 'CURRENT',
    min_version: `1.${minimumMinor}`,
    version: `1.${maximumMinor}`,
  };
}

/** `/` and `/v1`: what clients read before anything else (ironic-api.md §1.1). */
export function rootRoutes(): ApiApp {
  const app = newApiApp();

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

  return app;
}
