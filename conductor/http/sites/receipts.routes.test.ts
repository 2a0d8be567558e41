import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPublicKeys, sealEnvelope } from '#conductor/model/receipts/envelope.ts';
import { verifyReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { composeReceipt } from '#conductor/receipts/compose-receipt.ts';
import { keepReceipt } from '#conductor/receipts/receipt-store.ts';
import { ensureSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { receiptFacts } from '#conductor/receipts/testing/example-facts.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const path = '/api/v1.0/receipts';

/** Keeps a receipt as the step does. */
async function keep(node: { readonly uuid: string; readonly name: string }): Promise<string> {
  const key = await ensureSigningKey(api.context);
  const facts = receiptFacts({ id: randomUUID(), flows: { teardown: null, wipe: randomUUID() } });
  const receipt = composeReceipt({ ...facts, node: { ...facts.node, ...node } });
  const row = await keepReceipt(api.context.db, {
    uuid: receipt.id,
    flowUuid: receipt.flows.wipe,
    nodeUuid: node.uuid,
    nodeName: node.name,
    serialNumber: 'CN7475',
    preserveLocalStorage: false,
    disksWiped: 2,
    disksLeftAlone: 0,
    keyFingerprint: key.fingerprint,
    signedAt: new Date(receipt.times.signed),
    envelope: sealEnvelope(Buffer.from(JSON.stringify(receipt)), key),
  });
  return row.uuid;
}

const idsOf = ({ body }: { readonly body: Record<string, unknown> }) =>
  (body['receipts'] as { id: string }[]).map(({ id }) => id);

test('receipts are found by their nodes, under old names too and after those are gone; a flow has one', async () => {
  const gone = { uuid: randomUUID(), name: 'n1' };
  const renamed = { uuid: await addAvailableNode(api.context.db, 'new-name'), name: 'old-name' };
  const first = await keep(gone);
  const second = await keep(renamed);
  const third = await keep(gone);
  expect(idsOf(await api.call('GET', path))).toEqual([third, second, first]);
  expect(idsOf(await api.call('GET', `${path}?node=n1`))).toEqual([third, first]);
  expect(idsOf(await api.call('GET', `${path}?node=${gone.uuid.toUpperCase()}`))).toEqual([third, first]);
  for (const name of ['old-name', 'new-name'])
    expect(idsOf(await api.call('GET', `${path}?node=${name}`))).toEqual([second]);
  expect(idsOf(await api.call('GET', `${path}?node=nobody`))).toEqual([]);

  const page = await api.call('GET', `${path}?limit=2`);
  expect(idsOf(page)).toEqual([third, second]);
  const next = new URL(String(page.body['next']));
  expect(idsOf(await api.call('GET', `${next.pathname}${next.search}`))).toEqual([first]);

  const [listed] = page.body['receipts'] as Record<string, unknown>[];
  expect(listed).toMatchObject({
    node_name: 'n1',
    serial_number: 'CN7475',
    disks_wiped: 2,
    preserve_local_storage: false,
  });
  expect(idsOf(await api.call('GET', `${path}?flow=${String(listed?.['flow'])}`))).toEqual([third]);
});

test('what is fetched verifies by the key that is served, also after a rotation', async () => {
  const id = await keep({ uuid: randomUUID(), name: 'n2' });
  const rotated = await api.call('POST', '/api/v1.0/receipt-keys');
  expect(rotated.status).toBe(201);
  const { keys } = (await api.call('GET', '/api/v1.0/receipt-keys')).body as {
    keys: { fingerprint: string; public_key: string; retired_at: string | null }[];
  };
  expect(keys.map(({ retired_at: retired }) => retired !== null)).toEqual([true, false]);
  expect(keys.at(-1)?.fingerprint).toBe(rotated.body['fingerprint']);
  expect(JSON.stringify(keys)).not.toMatch(/PRIVATE|sealed/);

  const answer = await api.call('GET', `${path}/${id}`);
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="receipt-${id}.json"`);
  const text = JSON.stringify(answer.body);
  expect(verifyReceipt(text, readPublicKeys(keys[0]?.public_key ?? '', 'old')).receipt.id).toBe(id);
  expect(() => verifyReceipt(text, readPublicKeys(keys[1]?.public_key ?? '', 'new'))).toThrow('it is signed by key');
});

test.each([
  [`${path}/${randomUUID()}`, 404, 'no receipt'],
  [`${path}/1`, 400, "must be a receipt's UUID"],
  [`${path}?flow=1`, 400, "must be a flow's UUID"],
  [`${path}?limit=0`, 400, 'Limit must be positive'],
  [`${path}?marker=${randomUUID()}`, 400, 'marker: no receipt'],
])('GET %s is refused', async (asked, status, message) => {
  const answer = await api.call('GET', asked);
  expect([answer.status, answer.body['kind'], answer.body['message']]).toEqual([
    status,
    'Status',
    expect.stringContaining(message),
  ]);
});
