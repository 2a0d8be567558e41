import type { Context } from 'hono';
import { Hono } from 'hono';
import {
  answerBoot,
  answerHttpBoot,
  bootMediumParams,
  giveBootSecrets,
} from '#conductor/flows/network/boot-answers.ts';
import { admitCallers } from '#conductor/http/admit-callers.ts';
import { describeApi } from '#conductor/http/api-document.ts';
import { admitMachines } from '#conductor/http/doors/admit-strangers.ts';
import { jsonSuffix, observeRequests, refuseUnknownQuery } from '#conductor/http/doors/request-middleware.ts';
import { agentRoutes } from '#conductor/http/machines/agent.routes.ts';
import { attestationRoutes } from '#conductor/http/machines/attestation.routes.ts';
import { bootRoutes } from '#conductor/http/machines/boot.routes.ts';
import { consoleRoutes, consoleStateRoutes } from '#conductor/http/nodes/console.routes.ts';
import { eventRoutes, flowRoutes, nodeFlowRoutes } from '#conductor/http/nodes/flows.routes.ts';
import {
  nodeBiosRoutes,
  nodeFirmwareRoutes,
  nodeHardwareRoutes,
  nodeIndicatorRoutes,
} from '#conductor/http/nodes/node-hardware.routes.ts';
import {
  nodeBootModeRoutes,
  nodeManagementRoutes,
  nodeRaidRoutes,
} from '#conductor/http/nodes/node-management.routes.ts';
import { nodeNetworkRoutes, nodeVifRoutes } from '#conductor/http/nodes/node-networks.routes.ts';
import { nodePlanRoutes } from '#conductor/http/nodes/node-plan.routes.ts';
import { inspectionRoutes, nodeHistoryRoutes, nodeLogRoutes } from '#conductor/http/nodes/node-records.routes.ts';
import { nodeStateRoutes } from '#conductor/http/nodes/node-states.routes.ts';
import { nodeTpmRoutes } from '#conductor/http/nodes/node-tpm.routes.ts';
import { nodeTraitRoutes } from '#conductor/http/nodes/node-traits.routes.ts';
import { nodeVmediaRoutes } from '#conductor/http/nodes/node-vmedia.routes.ts';
import { nodeRoutes } from '#conductor/http/nodes/nodes.routes.ts';
import { recordingRoutes } from '#conductor/http/nodes/recordings.routes.ts';
import { vendorPassthruRoutes } from '#conductor/http/nodes/vendor-passthru.routes.ts';
import { allocationRoutes, nodeAllocationRoutes } from '#conductor/http/resources/allocations.routes.ts';
import { resourceRoutes } from '#conductor/http/resources/resources.routes.ts';
import { runbookTraitRoutes } from '#conductor/http/resources/runbook-traits.routes.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, newApiApp } from '#conductor/http/routing/define-routes.ts';
import { answerError, frameworkFault } from '#conductor/http/routing/error-answers.ts';
import { settleMicroversion } from '#conductor/http/routing/versions.ts';
import { conductorRoutes, driverRoutes, shardRoutes } from '#conductor/http/service/conductors.routes.ts';
import { imageRoutes } from '#conductor/http/service/images.routes.ts';
import { boardRoutes, docsRoutes } from '#conductor/http/service/pages.routes.ts';
import { healthRoutes, rootRoutes, settingsRoutes } from '#conductor/http/service/service.routes.ts';
import { sessionRoutes } from '#conductor/http/service/session.routes.ts';
import { tokenRoutes } from '#conductor/http/service/tokens.routes.ts';
import { unbuiltRoutes } from '#conductor/http/service/unbuilt.routes.ts';
import { webhookRoutes } from '#conductor/http/service/webhooks.routes.ts';
import { actionRoutes } from '#conductor/http/sites/actions.routes.ts';
import { airshipRoutes } from '#conductor/http/sites/airship.routes.ts';
import {
  commitConfigdocsRoutes,
  configdocsRoutes,
  renderedConfigdocsRoutes,
} from '#conductor/http/sites/configdocs.routes.ts';
import { credentialRoutes } from '#conductor/http/sites/credentials.routes.ts';
import { decommissionRoutes } from '#conductor/http/sites/decommission.routes.ts';
import { etcdRoutes } from '#conductor/http/sites/etcd.routes.ts';
import { kubernetesTeardownRoutes } from '#conductor/http/sites/kubernetes-teardown.routes.ts';
import { nodeFilterRoutes } from '#conductor/http/sites/node-filter.routes.ts';
import { pluginRoutes } from '#conductor/http/sites/plugins.routes.ts';
import { receiptRoutes } from '#conductor/http/sites/receipts.routes.ts';
import { revisionRoutes, revisionTagRoutes } from '#conductor/http/sites/revisions.routes.ts';
import { noteBootEvent } from '#conductor/nodes/boot/boot-event-store.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
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
  nodeTpmRoutes,
  recordingRoutes,
  resourceRoutes,
  runbookTraitRoutes,
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
  attestationRoutes,
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
 * Makes the app that serves everything on the conductor's port: Ironic's REST API, whose paths work with and without `/v1`
 * in front and with a slash behind, its description at `/openapi.json`, and what machines fetch while they boot.
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
  app.use('/', settleMicroversion);
  app.use('/v1/*', settleMicroversion);
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
  app.use(
    '/boot/*',
    admitMachines(context, (...refusal) => void noteRefusal(context, ...refusal)),
  );
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

/** Returns whether a path is one of a route's, `/v1/nodes/:node` or `/images/*`. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  const isOpen = wanted.at(-1) === '*';
  if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, place) => segment === '*' || segment.startsWith(':') || segment === given[place]);
}
