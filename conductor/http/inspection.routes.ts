import { z } from 'zod';
import { AgentLookup, Inventory } from '#conductor/api/node-parts.ts';
import { uuid } from '#conductor/api/values.ts';
import { answerAgent } from '#conductor/flows/lookup-node.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { minimumMinor, requireEndpoint } from '#conductor/http/versions.ts';
import { continueInspection } from '#conductor/nodes/inspection/continue-inspection.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route0 = routesOf('nodes');
const route1 = routesOf('agent');

const inventoryVersion = 81;
const continueVersion = 84;

const showInventory = route0.get(
  '/v1/nodes/{node}/inventory',
  "Show what the node's ramdisk found when it last looked",
  answers(200, 'inventory and plugin_data', Inventory),
);

const continueRoute = route1.post(
  '/v1/continue_inspection',
  'Take what a ramdisk has found',
  answers(202, 'taken', z.union([AgentLookup, z.strictObject({ uuid })])),
  {
    query: z.strictObject({ node_uuid: z.uuid({ error: 'must be a UUID' }).optional() }),
    body: z.record(z.string(), z.unknown()),
  },
);

/** The inventory, and what ramdisks report theirs to. No authentication there: strangers learn nothing. */
export function inspectionRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(showInventory, async (c) => {
    requireEndpoint(c.get('version'), inventoryVersion);
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    const row = await findInventory(context.db, uuid);
    if (!row) throw new AppError('not_found', `Node inventory record for node ${uuid} could not be found.`);
    return c.json({ inventory: row.inventory, plugin_data: row.pluginData });
  });

  app.openapi(continueRoute, async (c) => {
    const version = c.get('version');
    // agents name no version here
    const isUnversioned = version === minimumMinor;
    if (!isUnversioned) requireEndpoint(version, continueVersion);
    const node = await continueInspection(context, c.req.valid('json'), c.req.valid('query').node_uuid?.toLowerCase());
    // a discovered machine has nothing to do yet, and gets no token
    const hasWork = !isUnversioned && node.provisionState !== 'enroll';
    return c.json(hasWork ? await answerAgent(context, node, version) : { uuid: node.uuid }, 202);
  });

  return app;
}
