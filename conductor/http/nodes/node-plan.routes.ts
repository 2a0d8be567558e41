import { z } from 'zod';
import { Plan } from '#conductor/api/flows.ts';
import { jsonDocument } from '#conductor/api/node-description.ts';
import { viewPlan } from '#conductor/flows/plan/view-plan.ts';
import { requestedSteps, stepLists } from '#conductor/http/nodes/step-lists.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { checkImageUrls, checkStepUrls } from '#conductor/nodes/boot/image-info.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { wipeOf } from '#conductor/nodes/requested-wipe.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("flows and plans (Baton's own)");

/** Target of the plan → kind of flow, and the list of steps that goes with it. */
const targets = {
  active: { kind: 'deploy', list: 'deploy_steps' },
  rebuild: { kind: 'deploy', list: 'deploy_steps' },
  provide: { kind: 'clean', list: undefined },
  clean: { kind: 'manual_clean', list: 'clean_steps' },
  service: { kind: 'service', list: 'service_steps' },
  inspect: { kind: 'inspect', list: undefined },
} as const satisfies Record<string, { kind: FlowKindName; list: keyof typeof stepLists | undefined }>;

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

/** `POST /v1/nodes/{node}/plan`. */
export function nodePlanRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(plan, async (c) => {
    const body = c.req.valid('json');
    const { kind, list } = targets[body.target];
    const foreign = (['deploy_steps', 'clean_steps', 'service_steps'] as const).filter(
      (key) => body[key] && key !== list,
    );
    if (foreign.length > 0) {
      throw new AppError('invalid_argument', `${foreign.join(', ')}: it does not go with target '${body.target}'.`);
    }
    const isListed = list === 'clean_steps' || list === 'service_steps';
    if (body.runbook && !isListed)
      throw new AppError(
        'invalid_argument',
        `runbook: it does not go with target '${body.target}', but with clean and service.`,
      );
    if (isListed && !body[list] && !body.runbook) {
      throw new AppError('invalid_argument', `${list}: it must be given with target '${body.target}'.`);
    }
    if (body.wipe && body.target !== 'provide') {
      throw new AppError('invalid_argument', `wipe: it does not go with target '${body.target}', but with provide.`);
    }
    const stored = await getNode(context.db, c.req.valid('param').node);
    const node = body.instance_info ? withInstance(context, stored, body.instance_info) : stored;
    const { steps: requested, disableRamdisk } = await requestedSteps(context, body, {
      nodeUuid: stored.uuid,
      caller: c.get('caller'),
    });
    checkStepUrls(requested, context.config.outbound.images);
    const asked = body.wipe ? { preserveLocalStorage: body.wipe.preserve_local_storage } : undefined;
    const wipe = body.target === 'provide' ? wipeOf(node, { verb: 'provide', wipe: asked }) : undefined;
    return c.json(await viewPlan(context, node, { kind: wipe ? 'wipe' : kind, requested, disableRamdisk, wipe }));
  });
}

/** @throws AppError as a PATCH of the node would be refused with. */
function withInstance({ config, secrets }: HttpContext, node: NodeRow, changes: JsonObject): NodeRow {
  checkImageUrls(changes, config.outbound.images);
  const merged = Object.entries({ ...node.instanceInfo, ...changes }).filter(([, value]) => value !== null);
  return { ...node, ...sealNode(secrets, node.uuid, { instanceInfo: Object.fromEntries(merged) }, node) };
}
