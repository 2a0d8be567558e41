import type { Context } from 'hono';
import { z } from 'zod';
import { allocationResource, getAllocation, viewAllocation } from '#conductor/allocations/allocation-store.ts';
import { changeAllocation, releaseAllocation } from '#conductor/allocations/change-allocation.ts';
import { createAllocations, namedNode, tryAllocation } from '#conductor/allocations/create-allocation.ts';
import { Allocation, AllocationRequest, allocationFields } from '#conductor/api/allocations.ts';
import { AllocationTrial, NewAllocation } from '#conductor/api/node-parts.ts';
import { pageOf } from '#conductor/api/values.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import {
  type ApiApp,
  answers,
  fieldsQuery,
  linksTo,
  onlySince,
  originOf,
  routesOf,
} from '#conductor/http/routing/define-routes.ts';
import {
  chooseFieldsAt,
  nextPage,
  pagingQuery,
  parsePaging,
  requirePatch,
} from '#conductor/http/routing/list-queries.ts';
import { notAllowed, requireVersion } from '#conductor/http/routing/versions.ts';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { allocationStates, statesOf } from '#conductor/model/site/transitions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { listRows } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const states = statesOf(allocationStates);
const route = routesOf('allocations');
const path = '/v1/allocations';
const onePath = `${path}/{allocation}` as const;
const ofNodePath = '/v1/nodes/{node}/allocation';
/** Microversions (allocation.md §1). */
const since = { resource: 52, change: 57, backfill: 58, owner: 60 } as const;

const FieldsQuery = z.strictObject({ fields: z.string().optional() });

const ListQuery = z.strictObject({
  ...pagingQuery,
  fields: fieldsQuery,
  node: z.string().optional(),
  resource_class: z.string().min(1, 'must not be empty').max(80, 'is too long: at most 80 characters').optional(),
  state: z.enum(states, { error: `must be one of ${states.join(', ')}` }).optional(),
  owner: z.string().optional(),
});

const list = route.get(
  path,
  'List allocations',
  answers(
    200,
    'allocations, and the address of the next page when this one is full',
    pageOf('allocations', Allocation),
  ),
  { since: since.resource, query: ListQuery },
);

const create = route.post(
  path,
  'Ask for a node, or for several',
  {
    ...answers(200, 'dry_run: what it would be given, and why every other node is refused', AllocationTrial),
    ...answers(201, 'the allocation, still without its node; with count: all of them', NewAllocation),
  },
  { methodSince: since.resource, limits: 'usual', body: AllocationRequest },
);

const show = route.get(onePath, 'Show an allocation', answers(200, 'the allocation', Allocation), {
  since: since.resource,
  query: FieldsQuery,
});

const change = route.patch(
  onePath,
  'Change name or extra by JSON patch',
  answers(200, 'the whole allocation', Allocation),
  { methodSince: since.change, limits: 'usual', body: JsonPatch },
);

const remove = route.delete(onePath, 'Delete an allocation and give its node back', answers(204, 'gone'), {
  methodSince: since.resource,
});

const showOfNode = route.get(ofNodePath, "Show a node's allocation", answers(200, 'the allocation', Allocation), {
  since: since.resource,
  query: FieldsQuery,
});

const removeOfNode = route.delete(
  ofNodePath,
  "Delete a node's allocation and give the node back",
  answers(204, 'gone'),
  { since: since.resource },
);

/** @param asked for; without it all that say something */
function answer(c: Context<ApiEnv>, row: AllocationRow, asked?: string) {
  const version = c.get('version');
  const fields = asked === undefined ? undefined : chooseFieldsAt(asked, allocationFields, version);
  return {
    ...viewAllocation(row, { version, fields }),
    links: linksTo(originOf(c), `allocations/${row.uuid}`),
  };
}

/** Serves `/v1/allocations`. */
export function allocationRoutes(app: ApiApp, context: HttpContext): void {
  const { db } = context;
  app.openapi(list, async (c) => {
    const version = c.get('version');
    const query = c.req.valid('query');
    if (query.owner !== undefined) requireVersion(version, since.owner, "query argument 'owner'");
    chooseFieldsAt(query.fields, allocationFields, version); // wrong ones are told of an empty list, too
    const { project } = c.get('caller');
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await getAllocation(db, paging.marker, project);
    const where = {
      nodeUuid: query.node === undefined ? undefined : await namedNode(db, query.node, project),
      resourceClass: query.resource_class,
      state: query.state,
      owner: project ?? query.owner,
    };
    const isOthers = project !== undefined && query.owner !== undefined && query.owner !== project;
    const rows = isOthers ? [] : await listRows(db, allocationResource, { where }, paging);
    return c.json({
      allocations: rows.map((row) => answer(c, row, query.fields)),
      ...nextPage(c, path, paging, rows),
    });
  });

  app.openapi(create, async (c) => {
    const version = c.get('version');
    const request = c.req.valid('json');
    if (request.owner !== undefined) requireVersion(version, since.owner, "field 'owner'");
    if (request.node !== undefined && version < since.backfill) {
      throw new AppError('invalid_argument', `Unexpected arguments: node; it needs API version 1.${since.backfill}.`);
    }
    const options = { caller: c.get('caller'), version };
    if (request.dry_run) return c.json(await tryAllocation(db, request, options), 200);
    const rows = await createAllocations(context, request, options);
    if (request.count !== undefined) return c.json({ allocations: rows.map((row) => answer(c, row)) }, 201);
    const [row] = rows;
    if (!row) throw new AppError('internal', 'an allocation was made, and none came back');
    c.header('Location', `${originOf(c)}${path}/${row.uuid}`);
    return c.json(answer(c, row), 201);
  });

  app.openapi(show, async (c) => {
    const { fields } = c.req.valid('query');
    chooseFieldsAt(fields, allocationFields, c.get('version'));
    const row = await getAllocation(db, c.req.valid('param').allocation, c.get('caller').project);
    return c.json(answer(c, row, fields));
  });

  app.openapi(change, async (c) => {
    const patch = c.req.valid('json');
    requirePatch(patch, {}, c.get('version'));
    const { uuid } = await getAllocation(db, c.req.valid('param').allocation, c.get('caller').project);
    return c.json(answer(c, await changeAllocation(db, uuid, patch, c.get('version'))));
  });

  app.openapi(remove, async (c) => {
    const { uuid } = await getAllocation(db, c.req.valid('param').allocation, c.get('caller').project);
    await releaseAllocation(context, uuid, c.get('caller'));
    return c.body(null, 204);
  });
}

/** Serves `/v1/nodes/{node}/allocation`. */
export function nodeAllocationRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(showOfNode, async (c) => {
    const { fields } = c.req.valid('query');
    chooseFieldsAt(fields, allocationFields, c.get('version'));
    return c.json(answer(c, await allocationOfNode(context, c, c.req.valid('param').node), fields));
  });
  app.openapi(removeOfNode, async (c) => {
    const { uuid } = await allocationOfNode(context, c, c.req.valid('param').node);
    await releaseAllocation(context, uuid, c.get('caller'));
    return c.body(null, 204);
  });
  // a node has one: what stands behind is not an allocation's name, and not "not found" (allocation.md §4)
  app.all('/v1/nodes/:node/allocation/*', onlySince({ since: since.resource }), () => {
    throw notAllowed("A node's allocation is shown and deleted without naming it.");
  });
}

/** @throws AppError `not_found` without an allocation, `invalid_argument` for an instance that has none (seed 003). */
async function allocationOfNode({ db }: HttpContext, c: Context<ApiEnv>, ident: string): Promise<AllocationRow> {
  const node = await getNode(db, ident);
  if (node.allocationUuid !== null) return getAllocation(db, node.allocationUuid, c.get('caller').project);
  if (node.instanceUuid === null)
    throw new AppError('not_found', `Allocation for node ${node.uuid} could not be found.`);
  throw new AppError(
    'invalid_argument',
    `Node ${node.uuid} has instance ${node.instanceUuid}, which was set without an allocation.`,
  );
}
