import { z } from 'zod';
import { Webhook, WebhookDelivery, WebhookTest } from '#conductor/api/records.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { parsePaging } from '#conductor/http/routing/list-queries.ts';
import { JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { deliveryStates, statesOf } from '#conductor/model/site/transitions.ts';
import { sendTestEvent } from '#conductor/webhooks/deliver.ts';
import {
  deleteWebhook,
  getWebhook,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  updateWebhook,
  viewDelivery,
  viewWebhook,
  WebhookDescription,
} from '#conductor/webhooks/webhook-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { checkOutboundUrl, outboundAgent } from '#shared/peers/outbound-url.ts';
import { mask } from '#shared/secret-words.ts';

const route = routesOf("webhooks (Baton's own)");
const path = '/v1/webhooks';
const onePath = `${path}/{webhook}` as const;

const list = route.get(
  path,
  'List webhooks',
  answers(200, 'webhooks, without their secrets', z.strictObject({ webhooks: z.array(Webhook) })),
);

const create = route.post(
  path,
  'Subscribe a URL to events of nodes',
  answers(201, 'the webhook with its secret, which is not shown again', Webhook),
  { limits: 'usual', body: WebhookDescription },
);

const show = route.get(onePath, 'Show a webhook', answers(200, 'the webhook, without its secret', Webhook));

const change = route.patch(
  onePath,
  'Change a webhook by JSON patch; what waits is delivered to the new URL, signed with the new secret',
  answers(200, 'the webhook', Webhook),
  { limits: 'usual', body: JsonPatch },
);

const remove = route.delete(onePath, 'Delete a webhook, and what waits to be delivered to it', answers(204, 'gone'));

const testOne = route.post(
  `${onePath}/test`,
  'Send an event of type webhook.test now, once',
  answers(200, 'delivered, status and error', WebhookTest),
);

const deliveries = route.get(
  `${onePath}/deliveries`,
  'List deliveries, sent and pending; newest first',
  answers(
    200,
    'deliveries with state, attempts and the last error',
    z.strictObject({ deliveries: z.array(WebhookDelivery) }),
  ),
  {
    query: z.strictObject({
      state: z.enum(statesOf(deliveryStates), { error: 'must be pending, delivered or given up' }).optional(),
      limit: z.string().optional(),
      /** `id` of the last one of the page before. */
      marker: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    }),
  },
);

/** Serves `/v1/webhooks`. */
export function webhookRoutes(app: ApiApp, context: Pick<HttpContext, 'db' | 'secrets' | 'config'>): void {
  const { db } = context;
  const rules = context.config.webhooks.outbound;

  app.openapi(list, async (c) => {
    const rows = await listWebhooks(db);
    return c.json({ webhooks: rows.map((row) => viewWebhook(row, originOf(c))) });
  });

  app.openapi(create, async (c) => {
    const description = c.req.valid('json');
    checkUrl(description.url, rules);
    const { webhook, secret } = await insertWebhook(context, description, c.get('caller').user);
    c.header('Location', `${originOf(c)}${path}/${webhook.uuid}`);
    return c.json({ ...viewWebhook(webhook, originOf(c)), secret }, 201);
  });

  app.openapi(show, async (c) => c.json(viewWebhook(await getWebhook(db, c.req.valid('param').webhook), originOf(c))));

  app.openapi(change, async (c) => {
    const { uuid, name, url, events, project } = await getWebhook(db, c.req.valid('param').webhook);
    const before = { name, url, events, project, secret: mask };
    const description = patchDocument(before, c.req.valid('json'), WebhookDescription);
    checkUrl(description.url, rules);
    return c.json(viewWebhook(await updateWebhook(context, uuid, description), originOf(c)));
  });

  app.openapi(remove, async (c) => {
    await deleteWebhook(db, (await getWebhook(db, c.req.valid('param').webhook)).uuid);
    return c.body(null, 204);
  });

  app.openapi(testOne, async (c) => {
    const webhook = await getWebhook(db, c.req.valid('param').webhook);
    const agent = outboundAgent(rules);
    try {
      const { status, error } = await sendTestEvent({ secrets: context.secrets, rules, agent }, webhook);
      return c.json({ delivered: error === undefined, status, error: error ?? null });
    } finally {
      await agent.close();
    }
  });

  app.openapi(deliveries, async (c) => {
    const { state, limit, marker } = c.req.valid('query');
    const { uuid } = await getWebhook(db, c.req.valid('param').webhook);
    const rows = await listDeliveries(db, uuid, { state, before: marker, limit: parsePaging({ limit }).limit });
    return c.json({ deliveries: rows.map(viewDelivery) });
  });
}

/** @throws AppError `invalid_argument`, `forbidden` naming the field. */
function checkUrl(text: string, rules: HttpContext['config']['webhooks']['outbound']): void {
  const url = checkOutboundUrl('url', text, rules);
  if (url.username === '' && url.password === '') return;
  throw new AppError('invalid_argument', 'url: it must not have a login in it; receivers check the signature instead');
}
