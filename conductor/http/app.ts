import type { Context } from 'hono';
import { Hono } from 'hono';
import { answerBoot, answerHttpBoot, bootMediumParams, giveBootSecrets } from '#conductor/flows/boot-answers.ts';
import { actionRoutes } from '#conductor/http/actions.routes.ts';
import { admitCallers } from '#conductor/http/admit-callers.ts';
import { admitMachines } from '#conductor/http/admit-strangers.ts';
import { agentRoutes } from '#conductor/http/agent.routes.ts';
import { airshipRoutes } from '#conductor/http/airship.routes.ts';
import { allocationRoutes, nodeAllocationRoutes } from '#conductor/http/allocations.routes.ts';
import { describeApi } from '#conductor/http/api-document.ts';
import { bootRoutes } from '#conductor/http/boot.routes.ts';
import { conductorRoutes, driverRoutes, shardRoutes } from '#conductor/http/conductors.routes.ts';
import {
  commitConfigdocsRoutes,
  configdocsRoutes,
  renderedConfigdocsRoutes,
} from '#conductor/http/configdocs.routes.ts';
import { consoleRoutes, consoleStateRoutes } from '#conductor/http/console.routes.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { credentialRoutes } from '#conductor/http/credentials.routes.ts';
import { decommissionRoutes } from '#conductor/http/decommission.routes.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/define-routes.ts';
import { answerError, frameworkFault } from '#conductor/http/error-answers.ts';
import { etcdRoutes } from '#conductor/http/etcd.routes.ts';
import { eventRoutes, flowRoutes, nodeFlowRoutes } from '#conductor/http/flows.routes.ts';
import { imageRoutes } from '#conductor/http/images.routes.ts';
import { kubernetesTeardownRoutes } from '#conductor/http/kubernetes-teardown.routes.ts';
import { nodeFilterRoutes } from '#conductor/http/node-filter.routes.ts';
import {
  nodeBiosRoutes,
  nodeFirmwareRoutes,
  nodeHardwareRoutes,
  nodeIndicatorRoutes,
} from '#conductor/http/node-hardware.routes.ts';
import { nodeBootModeRoutes, nodeManagementRoutes, nodeRaidRoutes } from '#conductor/http/node-management.routes.ts';
import { nodeNetworkRoutes, nodeVifRoutes } from '#conductor/http/node-networks.routes.ts';
import { nodePlanRoutes } from '#conductor/http/node-plan.routes.ts';
import { inspectionRoutes, nodeHistoryRoutes, nodeLogRoutes } from '#conductor/http/node-records.routes.ts';
import { nodeStateRoutes } from '#conductor/http/node-states.routes.ts';
import { nodeTraitRoutes } from '#conductor/http/node-traits.routes.ts';
import { nodeVmediaRoutes } from '#conductor/http/node-vmedia.routes.ts';
import { nodeRoutes } from '#conductor/http/nodes.routes.ts';
import { boardRoutes, docsRoutes } from '#conductor/http/pages.routes.ts';
import { pluginRoutes } from '#conductor/http/plugins.routes.ts';
import { receiptRoutes } from '#conductor/http/receipts.routes.ts';
import { recordingRoutes } from '#conductor/http/recordings.routes.ts';
import { jsonSuffix, observeRequests, refuseUnknownQuery } from '#conductor/http/request-middleware.ts';
import { resourceRoutes } from '#conductor/http/resources.routes.ts';
import { revisionRoutes, revisionTagRoutes } from '#conductor/http/revisions.routes.ts';
import { healthRoutes, rootRoutes, settingsRoutes } from '#conductor/http/service.routes.ts';
import { sessionRoutes } from '#conductor/http/session.routes.ts';
import { tokenRoutes } from '#conductor/http/tokens.routes.ts';
import { unbuiltRoutes } from '#conductor/http/unbuilt.routes.ts';
import { vendorPassthruRoutes } from '#conductor/http/vendor-passthru.routes.ts';
import { microversions } from '#conductor/http/versions.ts';
import { webhookRoutes } from '#conductor/http/webhooks.routes.ts';
import { noteBootEvent } from '#conductor/nodes/boot-event-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In order: `/v1/nodes/validate` must stand before `/v1/nodes/{node}`, and what is not built comes last. */
const routeTables: readonly ((app: ApiApp, context: HttpContext) => void)[] = [
  boardRoutes,
  rootRoutes,
  healthRoutes,
  nodeManagementRoutes,
  nodeRoutes,
  nodePlanRoutes,
  nodeFlowRoutes,
  nodeStateRoutes,
  nodeBootModeRoutes,
  nodeRaidRoutes,
  nodeNetworkRoutes,
  nodeVifRoutes,
  nodeTraitRoutes,
  nodeBiosRoutes,
  nodeFirmwareRoutes,
  nodeHardwareRoutes,
  nodeIndicatorRoutes,
  nodeVmediaRoutes,
  nodeHistoryRoutes,
  flowRoutes,
  eventRoutes,
  consoleRoutes,
  consoleStateRoutes,
  inspectionRoutes,
  nodeLogRoutes,
  recordingRoutes,
  resourceRoutes,
  shardRoutes,
  driverRoutes,
  allocationRoutes,
  nodeAllocationRoutes,
  imageRoutes,
  webhookRoutes,
  tokenRoutes,
  sessionRoutes,
  settingsRoutes,
  conductorRoutes,
  actionRoutes,
  agentRoutes,
  airshipRoutes,
  configdocsRoutes,
  commitConfigdocsRoutes,
  renderedConfigdocsRoutes,
  revisionRoutes,
  revisionTagRoutes,
  credentialRoutes,
  pluginRoutes,
  nodeFilterRoutes,
  kubernetesTeardownRoutes,
  etcdRoutes,
  decommissionRoutes,
  receiptRoutes,
  vendorPassthruRoutes,
  unbuiltRoutes,
];

/**
 * Everything on the conductor's port: Ironic's REST API, whose paths work with and without `/v1` in front and with a
 * slash behind, its description at `/openapi.json`, and what machines fetch while they boot.
 */
export function createApp(context: HttpContext): ApiApp {
  const app = newApiApp();
  app.onError(answerError(context));
  app.notFound(answerUnrouted(app));

  app.use('*', observeRequests(context));
  const { apiUrl } = context.config;
  if (apiUrl !== undefined)
    app.use('*', (c, next) => {
      c.set('apiUrl', apiUrl);
      return next();
    });
  // refusals too say which versions there are
  app.use('/', microversions);
  app.use('/v1/*', microversions);
  app.use('/v1/*', jsonSuffix(app));
  app.use('*', admitCallers(app, context));
  // Airship's clients send parameters to every operation
  app.use('/v1/*', refuseUnknownQuery(app));

  for (const mount of routeTables) mount(app, context);
  docsRoutes(app, () => describeApi(app));
  // they have a port of their own, which a firewall shows to machines alone
  if (context.config.boot.port !== undefined)
    app.all('/boot/*', () => {
      throw new AppError('not_found', 'What machines boot is served on BATON_BOOT_PORT.');
    });
  app.route('/', createBootApp(context));
  return app;
}

/**
 * Makes the app of what machines fetch while they boot, and nothing else: also on a port of its own
 * (`BATON_BOOT_PORT`).
 */
export function createBootApp(context: HttpContext): Hono {
  const { config } = context;
  const app = new Hono();
  app.use('/boot/*', admitMachines(context));
  app.route(
    '/',
    bootRoutes({
      answer: (mac) => answerBoot(context, mac),
      secrets: (client) => giveBootSecrets(context, client),
      httpBoot: (client) => answerHttpBoot(context, client),
      mediumParams: (of) => bootMediumParams(context, of),
      ramdiskDirectory: config.ramdiskDirectory,
      imagesDirectory: config.imagesDirectory,
      ipxeDirectory: config.ipxeDirectory,
      publicUrl: config.boot.url,
      agentApi: { url: config.publicUrl, isInsecure: config.boot.insecureAgents },
      kernelParams: config.kernelParams,
      discovery: config.discovery !== undefined,
      log: context.log,
      onFetched: (mac, event) => noteBootEvent(context, { mac }, event),
    }),
  );
  return app;
}

/** Answers what no route does: 405 with the methods that the path has, or 404 for a path that has none. */
function answerUnrouted(app: ApiApp): (c: Context<ApiEnv>) => Response {
  return (c) => {
    const methods = app.routes
      .filter(({ method, path }) => method !== 'ALL' && matches(path, c.req.path))
      .map(({ method }) => method);
    if (methods.length === 0) return frameworkFault(c, 404, '');
    c.header('Allow', [...new Set(methods)].sort((a, b) => a.localeCompare(b)).join(', '));
    return frameworkFault(c, 405, '');
  };
}

/** Whether a path is one of a route's, `/v1/nodes/:node` or `/images/*`. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  const isOpen = wanted.at(-1) === '*';
  if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, place) => segment === '*' || segment.startsWith(':') || segment === given[place]);
}
