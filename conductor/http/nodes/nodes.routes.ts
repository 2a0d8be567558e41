import type { Context } from 'hono';
import { z } from 'zod';
import { NodeDescription } from '#conductor/api/node-description.ts';
import { Node } from '#conductor/api/resources.ts';
import { pageOf } from '#conductor/api/values.ts';
import { requireFieldRights } from '#conductor/auth/authorize.ts';
import { removeNode } from '#conductor/flows/request/remove-node.ts';
import {
  allNodeFields,
  answerNode,
  answerNodes,
  type NodeFieldChoice,
  NodeFilterQuery,
  nodeFieldChoice,
  nodeFieldSet,
  requireKnownNodeFilters,
  toNodeFilter,
} from '#conductor/http/nodes/node-queries.ts';
import { requireUuid } from '#conductor/http/resources/mount-resource.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import {
  chooseFieldsAt,
  chooseListFieldsAt,
  nextPage,
  parsePaging,
  requireFields,
  requirePatch,
} from '#conductor/http/routing/list-queries.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { accessDenied, type Caller } from '#conductor/kernel/caller.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { nodeFieldVersions } from '#conductor/model/node-words.ts';
import { changeNode, createNode, withDriverDefaults } from '#conductor/nodes/change/change-node.ts';
import { ownerOfNew } from '#conductor/nodes/node-ownership.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { chassisResource } from '#conductor/nodes/resources/chassis.ts';
import { getRow } from '#conductor/nodes/resources/resource-store.ts';
import { listNodes } from '#conductor/nodes/views/list-nodes.ts';
import { getShownNode, noSurroundings } from '#conductor/nodes/views/node-surroundings.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('nodes');
const removeChassisVersion = 25;
const resetInterfacesVersion = 45;

const list = route.get(
  '/v1/nodes',
  'List nodes',
  answers(200, 'nodes, and the address of the next page when this one is full', pageOf('nodes', Node)),
  { query: NodeFilterQuery },
);

/** `/detail` has all fields: there is nothing to choose. */
const DetailQuery = NodeFilterQuery.omit({ fields: true, detail: true });

const listDetail = route.get(
  '/v1/nodes/detail',
  'List nodes with all fields',
  answers(200, 'nodes', pageOf('nodes', Node)),
  { query: DetailQuery },
);

const chassisPath = '/v1/chassis/{chassis}/nodes';

const listOfChassis = route.get(
  chassisPath,
  'List the nodes of a chassis',
  answers(200, 'nodes', pageOf('nodes', Node)),
  { query: NodeFilterQuery.omit({ chassis_uuid: true }) },
);

const listDetailOfChassis = route.get(
  `${chassisPath}/detail`,
  'List the nodes of a chassis with all fields',
  answers(200, 'nodes', pageOf('nodes', Node)),
  { query: DetailQuery.omit({ chassis_uuid: true }) },
);

const CreateBody = NodeDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).optional() });

const create = route.post('/v1/nodes', 'Enroll a node', answers(201, 'the node', Node), {
  limits: 'usual',
  body: CreateBody,
});

const show = route.get('/v1/nodes/{node}', 'Show a node', answers(200, 'the node', Node), {
  query: z.strictObject({ fields: z.string().optional() }),
});

const change = route.patch('/v1/nodes/{node}', 'Change a node by JSON patch', answers(200, 'the whole node', Node), {
  query: z.strictObject({ reset_interfaces: queryFlag }),
  limits: 'usual',
  body: JsonPatch,
});

const remove = route.delete('/v1/nodes/{node}', 'Forget a node', answers(204, 'gone'));

/**
 * A project's administrator writes into its new node what it may write into its nodes, and leases it to nobody.
 * @throws AppError `forbidden`.
 */
function requireOwnFields(fields: NodeDescription, caller: Caller, owner: string): void {
  const policy = 'baremetal:node:create';
  const given = Object.keys(fields).filter((field) => field !== 'owner');
  if (fields.lessee) throw accessDenied(`${policy}:lessee`, caller, undefined);
  requireFieldRights(given, policy, caller, { owner, lessee: null });
}

function chosenInList(c: Context<ApiEnv>, query: z.infer<typeof NodeFilterQuery>): NodeFieldChoice {
  return nodeFieldChoice(chooseListFieldsAt(query, nodeFieldSet, c.get('version')));
}

/** Serves `/v1/nodes`: create, list, show, change, delete. */
export function nodeRoutes(app: ApiApp, context: HttpContext): void {
  mountLists(app, context);
  app.openapi(create, async (c) => {
    const body = c.req.valid('json');
    const version = c.get('version');
    requireFields(Object.keys(body), nodeFieldVersions, version);
    const caller = c.get('caller');
    const { uuid, ...fields } = body;
    const owner = ownerOfNew(caller, body.owner);
    if (caller.project !== undefined) requireOwnFields(fields, caller, caller.project);
    const description = { ...fields, uuid, owner };
    const node = await createNode(context, description, { version, caller });
    c.header('Location', `${originOf(c)}/v1/nodes/${node.uuid}`);
    return c.json(answerNode(context, c, { node, surroundings: noSurroundings }), 201);
  });
  app.openapi(show, async (c) => {
    const { fields } = c.req.valid('query');
    const choice = nodeFieldChoice(chooseFieldsAt(fields, nodeFieldSet, c.get('version')));
    const node = await getShownNode(context.db, c.req.valid('param').node, choice.fields);
    return c.json(answerNode(context, c, node, choice));
  });
  app.openapi(change, async (c) => {
    const patch = c.req.valid('json');
    const version = c.get('version');
    requirePatch(patch, nodeFieldVersions, version);
    if (c.req.valid('query').reset_interfaces !== undefined) {
      requireVersion(version, resetInterfacesVersion, "query argument 'reset_interfaces'");
    }
    if (patch.some(({ op, path }) => op === 'remove' && path === '/chassis_uuid')) {
      requireVersion(version, removeChassisVersion, 'removing chassis_uuid');
    }
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    const whole = c.req.valid('query').reset_interfaces ? withDriverDefaults(patch) : patch;
    await changeNode(context, uuid, whole, { version, caller: c.get('caller') });
    return c.json(answerNode(context, c, await getShownNode(context.db, uuid)));
  });
  app.openapi(remove, async (c) => {
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    await removeNode(context, uuid, c.get('caller'));
    return c.body(null, 204);
  });
}

function mountLists(app: ApiApp, context: HttpContext): void {
  const answerList = async (
    c: Parameters<typeof answerNodes>[1],
    query: z.infer<typeof NodeFilterQuery>,
    choice: NodeFieldChoice,
    path: string,
  ) => {
    requireKnownNodeFilters(query, c.get('version'));
    const paging = parsePaging(query);
    requireFields([paging.sortKey], nodeFieldVersions, c.get('version'));
    if (paging.sortKey === 'last_error' && c.get('caller').project !== undefined) {
      throw new AppError('invalid_argument', 'The sort_key value last_error is an invalid field for sorting');
    }
    if (paging.marker !== undefined) await getNode(context.db, paging.marker);
    const filter = toNodeFilter(query, context.config.conductorTimeoutMs);
    const visibleTo = c.get('caller').project;
    const shown =
      filter === undefined ? [] : await listNodes(context.db, { ...filter, visibleTo }, paging, choice.fields);
    const nodes = answerNodes(context, c, shown, choice);
    const rows = shown.map(({ node }) => node);
    return c.json({ nodes, ...nextPage(c, path, paging, rows) }, 200);
  };

  app.openapi(list, (c) => {
    const query = c.req.valid('query');
    return answerList(c, query, chosenInList(c, query), '/v1/nodes');
  });
  app.openapi(listDetail, (c) => answerList(c, c.req.valid('query'), allNodeFields, '/v1/nodes/detail'));
  const chassisOf = (ident: string) => getRow(context.db, chassisResource, requireUuid(ident, 'chassis_uuid'));
  app.openapi(listOfChassis, async (c) => {
    const query = c.req.valid('query');
    const { uuid } = await chassisOf(c.req.valid('param').chassis);
    const choice = chosenInList(c, query);
    return answerList(c, { ...query, chassis_uuid: uuid }, choice, `/v1/chassis/${uuid}/nodes`);
  });
  app.openapi(listDetailOfChassis, async (c) => {
    const { uuid } = await chassisOf(c.req.valid('param').chassis);
    const query = { ...c.req.valid('query'), chassis_uuid: uuid };
    return answerList(c, query, allNodeFields, `/v1/chassis/${uuid}/nodes/detail`);
  });
}
