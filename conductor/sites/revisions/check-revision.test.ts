import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { describeLeftBehind, readRevisionSite } from '#conductor/sites/revisions/check-revision.ts';
import { uploadCollection } from '#conductor/sites/revisions/upload-collection.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

async function upload(text: string): Promise<number> {
  const content = { text, documents: parseDocuments(text).documents };
  const upload = { collection: 'site', mode: 'replace', content, user: undefined } as const;
  const { revision } = await uploadCollection({ db: database.db, secrets: testSecrets }, upload);
  return revision?.id ?? 0;
}

const plugin = (version: string) =>
  `schema: baton/Plugin/v1\nmetadata: {name: ntp}\ndata: {name: ntp, version: '${version}'}\n`;

test('the same texts and the same knowledge are read once, others again', async () => {
  const reader = { db: database.db, secrets: testSecrets };
  const ids = [
    await upload(plugin('1')),
    await upload(plugin('2')),
    await upload(plugin('3')),
    await upload(plugin('4')),
  ];
  const [one = 0, two = 0, three = 0, four = 0] = ids;
  const known = { plugins: [{ name: 'ntp', version: '1' }] };
  const [first, same] = await Promise.all([
    readRevisionSite(reader, one, known),
    readRevisionSite(reader, one, { ...known }),
  ]);
  expect(first.site).toBeDefined();
  expect(same).toBe(first);
  const unknown = await readRevisionSite(reader, one, { plugins: [] });
  expect(unknown.faults.map(({ name }) => name)).toContain('UnknownPlugin');
  expect(await readRevisionSite(reader, one, known)).toBe(first);
  // three are kept
  await readRevisionSite(reader, two, known);
  await readRevisionSite(reader, three, known);
  await readRevisionSite(reader, four, known);
  const again = await readRevisionSite(reader, one, known);
  expect(again).not.toBe(first);
  expect(again).toEqual(first);
});

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('deployed nodes that no document has are named, until they are undeployed', async () => {
  const { db } = api.context;
  const deployed = async (name: string): Promise<void> => {
    const made = await api.call('POST', '/v1/nodes', { name, driver: 'fake-hardware' });
    const nodeUuid = String(made.body['uuid']);
    const instanceUuid = crypto.randomUUID();
    await db.update(nodes).set({ instanceUuid }).where(eq(nodes.uuid, nodeUuid));
    await db.insert(siteNodes).values({ name, nodeUuid, instanceUuid, revisionId: 1, designHash: '', actionId: 'a' });
  };
  await deployed('n1');
  await deployed('n2');
  expect(await describeLeftBehind(db, new Set(['n1', 'n2', 'n3']))).toBeUndefined();
  expect(await describeLeftBehind(db, new Set(['n3']))).toBe(
    '2 deployed nodes are in no document any more: n1, n2; they stay as they are (baton undeploy frees a node)',
  );
  await db.update(nodes).set({ instanceUuid: null }).where(eq(nodes.name, 'n1'));
  expect(await describeLeftBehind(db, new Set(['n3']))).toBe(
    '1 deployed node is in no document any more: n2; it stays as it is (baton undeploy frees a node)',
  );
});
