import type { Context } from 'hono';
import { z } from 'zod';
import { EventSubscription, EventSubscriptions, VendorMethods } from '#conductor/api/node-parts.ts';
import type { EventsInterface, EventSubscription as Subscription } from '#conductor/drivers/interfaces.ts';
import { readBodyOfGet } from '#conductor/http/doors/read-body.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { requireDriver } from '#conductor/http/service/conductors.routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { implementationOf, requireInterface } from '#conductor/nodes/node-interfaces.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');
const path = '/v1/nodes/{node}/vendor_passthru';

/** Ironic's for `redfish`: where a BMC sends its events, as metal3's `BMCEventSubscription` asks for it. */
const methods = {
  create_subscription: { verb: 'POST', description: 'Has the BMC send its events to Destination.' },
  delete_subscription: { verb: 'DELETE', description: 'Ends the subscription with this id.' },
  get_subscription: { verb: 'GET', description: 'Shows the subscription with this id.' },
  get_all_subscriptions: { verb: 'GET', description: 'Lists the paths of all subscriptions.' },
} as const;
type MethodName = keyof typeof methods;

const query = z.looseObject({
  method: z.enum(Object.keys(methods) as MethodName[], { error: `must be ${Object.keys(methods).join(', ')}` }),
});
const Id = z.object({ id: z.string({ error: 'must be the id of a subscription' }).min(1, 'must not be empty') });

const list = route.get(`${path}/methods`, 'List vendor methods', answers(200, 'methods by name', VendorMethods));
const listOfDriver = routesOf('drivers').get(
  '/v1/drivers/{driver}/vendor_passthru/methods',
  "List a driver's vendor methods: none",
  answers(200, 'none', VendorMethods),
);
const show = route.get(
  path,
  'Show where the BMC sends its events: get_all_subscriptions, get_subscription',
  answers(200, 'a subscription, or paths of all', z.union([EventSubscription, EventSubscriptions])),
  { query: query.extend({ id: z.string().optional() }) },
);
const create = route.post(
  path,
  'Have the BMC send its events to a URL: create_subscription',
  answers(200, 'the subscription', EventSubscription),
  {
    query,
    limits: 'usual',
    body: z.strictObject({
      Destination: z.string().regex(/^https?:\/\/[\x21-\x7e]+$/, { error: 'must be an http:// or https:// URL' }),
      Protocol: z.string({ error: 'must be text' }).optional(),
      Context: z.string({ error: 'must be text' }).optional(),
      EventTypes: z.array(z.string(), { error: 'must be a list of names' }).optional(),
      HttpHeaders: z
        .array(z.record(z.string(), z.string()), { error: 'must be a list of objects with texts' })
        .optional(),
    }),
  },
);
const remove = route.delete(path, 'Have the BMC send no more events: delete_subscription', answers(204, 'done'), {
  query,
  limits: 'usual',
  body: Id,
});

/**
 * Serves `/v1/nodes/{node}/vendor_passthru`. The URL and its headers are the BMC's alone: they are neither kept nor logged.
 */
export function vendorPassthruRoutes(app: ApiApp, context: HttpContext): void {
  const find = async (ident: string): Promise<{ node: NodeRow; events: EventsInterface }> => {
    const node = await getNode(context.db, ident);
    requireInterface(node, 'vendor');
    const { events } = context.drivers.connect(node, { node: node.uuid });
    if (events && hasMethods(node)) return { node, events };
    throw new AppError('not_supported', `Driver ${node.driver} has no vendor methods: a redfish node has them.`);
  };
  const note = (c: Context<ApiEnv>, { uuid }: NodeRow, event: string) =>
    writeChangeNote(context.db, uuid, changeNote(context, c.get('caller'), event));

  app.openapi(list, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    return c.json(hasMethods(node) ? methodsView : {});
  });
  app.openapi(listOfDriver, (c) => {
    requireDriver(context, c.req.valid('param').driver);
    return c.json({});
  });

  app.openapi(show, async (c) => {
    const { method, id } = c.req.valid('query');
    requireVerb(method, 'GET');
    const { events } = await find(c.req.valid('param').node);
    if (method === 'get_all_subscriptions') {
      const { path: place, members } = await events.list();
      return c.json({
        '@odata.id': place,
        '@odata.type': '#EventDestinationCollection.EventDestinationCollection',
        Name: 'Event Subscriptions',
        'Members@odata.count': members.length,
        Members: members.map((member) => ({ '@odata.id': member })),
      });
    }
    const wanted = Id.safeParse(id === undefined ? await readBodyOfGet(c) : { id });
    if (!wanted.success) throw new AppError('invalid_argument', 'Missing mandatory parameter: id, of a subscription');
    return c.json(viewSubscription(await events.read(wanted.data.id)));
  });

  app.openapi(create, async (c) => {
    requireVerb(c.req.valid('query').method, 'POST');
    const { node, events } = await find(c.req.valid('param').node);
    const { Destination, Protocol, Context: words, EventTypes, HttpHeaders } = c.req.valid('json');
    const made = await events.subscribe({
      destination: Destination,
      ...(Protocol === undefined ? {} : { protocol: Protocol }),
      ...(words === undefined ? {} : { context: words }),
      ...(EventTypes === undefined ? {} : { eventTypes: EventTypes }),
      ...(HttpHeaders === undefined ? {} : { httpHeaders: HttpHeaders }),
    });
    await note(c, node, `event subscription ${made.id} is created at the BMC`);
    return c.json(viewSubscription(made));
  });

  app.openapi(remove, async (c) => {
    requireVerb(c.req.valid('query').method, 'DELETE');
    const { node, events } = await find(c.req.valid('param').node);
    const { id } = c.req.valid('json');
    await events.unsubscribe(id);
    await note(c, node, `event subscription ${id} is deleted at the BMC`);
    return c.body(null, 204);
  });
}

function hasMethods(node: NodeRow): boolean {
  return implementationOf(node, 'vendor') === 'redfish';
}

const methodsView = Object.fromEntries(
  Object.entries(methods).map(([name, { verb, description }]) => [
    name,
    { async: false, attach: false, description, http_methods: [verb], require_exclusive_lock: false },
  ]),
);

/** @throws AppError `invalid_argument` naming the verb that the method has */
function requireVerb(method: MethodName, verb: string): void {
  const wanted = methods[method].verb;
  if (verb === wanted) return;
  throw new AppError(
    'invalid_argument',
    `The method ${method} does not support HTTP ${verb}: it is asked for by ${wanted}`,
  );
}

function viewSubscription({ id, context, protocol, destination, eventTypes }: Subscription) {
  return { Id: id, Context: context, Protocol: protocol, Destination: destination, EventTypes: [...eventTypes] };
}
