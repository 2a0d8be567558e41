import { z } from 'zod';
import { Plan } from '#conductor/api/flows.ts';
import { jsonDocument } from '#conductor/api/node-description.ts';
import { kindOn } from '#conductor/flows/plan/kind-on-node.ts';
import { viewRequest } from '#conductor/flows/request/view-request.ts';
import { checkProvisionKeys } from '#conductor/http/nodes/provision-keys.ts';
import { requestedSteps, stepLists } from '#conductor/http/nodes/step-lists.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { ProvisionVerb } from '#conductor/model/provision-states.ts';
import { checkImageUrls } from '#conductor/nodes/boot/image-info.ts';
import { requireSecretForNewRegistry } from '#conductor/nodes/change/pull-secret-way.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

const route = routesOf("flows and plans (Baton's own)");

/** Target of the plan → kind of flow that the verb starts. */
const targets = {
  active: 'deploy',
  rebuild: 'deploy',
  provide: 'clean',
  clean: 'manual_clean',
  service: 'service',
  inspect: 'inspect',
} as const satisfies Partial<Record<ProvisionVerb, FlowKindName>>;

const names = Object.keys(targets).join(', ');
const PlanBody = z.strictObject({
  target: z
    .enum(Object.keys(targets) as (keyof typeof targets)[], { error: `must be one of ${names}` })
    .default('active'),
  instance_info: jsonDocument
    .describe(
      "merged into the node's for this plan alone, so that its hash is that of a node with it; null removes a key",
    )
    .nullish(),
  ...stepLists,
  wipe: z
    .strictObject({ preserve_local_storage: z.boolean().default(false) })
    .describe('with provide: what comes in place of cleaning, also after a release of the instance')
    .nullish(),
});

const plan = route.post(
  '/v1/nodes/{node}/plan',
  "Baton's own: what a provision request would do, step by step, without touching anything",
  answers(200, 'the plan; its hash may go with the request as plan_hash', Plan),
  { limits: 'usual', body: PlanBody },
);

/** Serves `POST /v1/nodes/{node}/plan`. */
export function nodePlanRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(plan, async (c) => {
    const body = c.req.valid('json');
    checkProvisionKeys(body, body.target, Number.POSITIVE_INFINITY);
    const stored = await getNode(context.db, c.req.valid('param').node);
    const node = body.instance_info ? withInstance(context, stored, body.instance_info) : stored;
    const caller = c.get('caller');
    const asked = await requestedSteps(context, body, { nodeUuid: stored.uuid, caller, version: c.get('version') });
    const request = {
      ...asked,
      caller,
      verb: body.target,
      kind: kindOn(node, targets[body.target]),
      ...(body.wipe ? { orVerb: 'deleted' as const } : {}),
      wipe: body.wipe ? { preserveLocalStorage: body.wipe.preserve_local_storage } : undefined,
    };
    return c.json(await viewRequest(context, node, request));
  });
}

/** @throws AppError as a PATCH of the node would be refused with. */
function withInstance({ config, secrets }: HttpContext, node: NodeRow, changes: JsonObject): NodeRow {
  checkImageUrls(changes, config.outbound.images);
  const merged = Object.entries({ ...node.instanceInfo, ...changes }).filter(([, value]) => value !== null);
  const instanceInfo = Object.fromEntries(merged);
  requireSecretForNewRegistry(instanceInfo, node.instanceInfo);
  return { ...node, ...sealNode(secrets, node.uuid, { instanceInfo }, node) };
}
