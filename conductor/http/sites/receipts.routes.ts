import { z } from 'zod';
import { Receipt, ReceiptEnvelope, ReceiptKey } from '#conductor/api/records.ts';
import { pageOf } from '#conductor/api/values.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, answerWritten, routesOf } from '#conductor/http/routing/define-routes.ts';
import { nextPage, parsePaging } from '#conductor/http/routing/list-queries.ts';
import { airshipPath } from '#conductor/http/sites/airship-values.ts';
import { findReceipt, listReceipts, viewReceipt, viewReceiptKey } from '#conductor/receipts/receipt-store.ts';
import { listReceiptKeys, rotateSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("receipts of wiped nodes (Baton's own)");
const path = `${airshipPath}/receipts` as const;
const keysPath = `${airshipPath}/receipt-keys` as const;

const list = route.get(
  path,
  'List wipes, newest first; deleted nodes included',
  answers(200, 'receipts, without what is signed', pageOf('receipts', Receipt)),
  {
    query: z.strictObject({
      node: z.string().min(1).optional().describe('UUID, or a name that it has or had'),
      flow: z.guid({ error: "must be a flow's UUID" }).optional().describe('the flow that has wiped it'),
      limit: z.string().optional(),
      marker: z.string().optional().describe('id of the last one of the page before'),
    }),
  },
);

const show = route.get(
  `${path}/{receipt}`,
  'Fetch a receipt: a DSSE envelope that can be verified without Baton',
  { ...answers(200, 'the signed file', ReceiptEnvelope), 404: { description: 'no such receipt' } },
  { params: z.object({ receipt: z.guid({ error: "must be a receipt's UUID" }) }) },
);

const keys = route.get(
  keysPath,
  'List the public keys that receipts were ever signed with, the one in use last',
  answers(200, 'fingerprint, PEM, and from when to when', z.strictObject({ keys: z.array(ReceiptKey) })),
);

const rotate = route.post(
  keysPath,
  'Sign with a new key from now on; the private half of the old one is destroyed',
  answers(201, 'the new key', ReceiptKey),
);

/** Serves `/api/v1.0/receipts` and `/api/v1.0/receipt-keys`. */
export function receiptRoutes(app: ApiApp, context: Pick<HttpContext, 'db' | 'secrets' | 'log'>): void {
  const { db } = context;

  app.openapi(list, async (c) => {
    const { node, flow, limit, marker } = c.req.valid('query');
    const paging = parsePaging({ limit, marker });
    const rows = await listReceipts(db, {
      node,
      flow: flow?.toLowerCase(),
      marker: paging.marker?.toLowerCase(),
      limit: paging.limit,
    });
    return c.json({ receipts: rows.map(viewReceipt), ...nextPage(c, path, paging, rows) });
  });

  app.openapi(show, async (c) => {
    const { receipt: uuid } = c.req.valid('param');
    const row = await findReceipt(db, uuid.toLowerCase());
    if (!row) throw new AppError('not_found', `no receipt ${uuid}`);
    return answerWritten(c, ReceiptEnvelope, row.envelope, {
      'Content-Disposition': `attachment; filename="receipt-${row.uuid}.json"`,
    });
  });

  app.openapi(keys, async (c) => c.json({ keys: (await listReceiptKeys(db)).map(viewReceiptKey) }));

  app.openapi(rotate, async (c) => {
    const fingerprint = await rotateSigningKey(context);
    context.log.info({ key: fingerprint, user: c.get('caller').user }, 'receipts are signed with a new key');
    const made = (await listReceiptKeys(db)).find((key) => key.fingerprint === fingerprint);
    if (!made) throw new AppError('internal', `read receipt key ${fingerprint} back`);
    return c.json(viewReceiptKey(made), 201);
  });
}
