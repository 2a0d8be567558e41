import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { siteContents } from '#conductor/kernel/db/schema/site.ts';
import { pruneRevisions } from '#conductor/sites/revisions/prune-revisions.ts';
import { tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';
import { nodeDocument, plainStrategy } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => forgetRevisions(api.context.db));
afterAll(() => api.close());

const call = (method: string, path: string, body?: unknown) => api.call(method, `${airship}${path}`, body, '');
const upload = (collection: string, text: string, query = '') =>
  api.call('POST', `${airship}/configdocs/${collection}${query}`, text, '', { 'Content-Type': 'text/yaml' });
const text = async (path: string, headers: Record<string, string> = {}) =>
  (await api.request(`${airship}${path}`, { headers })).text();

async function twoRevisions(): Promise<void> {
  await upload('nodes', nodeDocument('n1') + nodeDocument('n2'));
  await call('POST', '/commitconfigdocs');
  await upload('nodes', nodeDocument('n1').replace('rack1', 'rack2') + nodeDocument('n3'));
  await upload('strategy', plainStrategy, '?buffermode=append');
}

test('revisions are listed and shown, with collections, tags and roles', async () => {
  await twoRevisions();
  await tagRevision(api.context.db, {
    revisionId: 1,
    tag: 'site-action-failure',
    data: { action: 'A' },
    user: undefined,
  });
  const { body } = await call('GET', '/revisions');
  expect(body).toMatchObject({
    count: 3,
    next: null,
    prev: null,
    results: [
      {
        id: 1,
        url: 'http://api.example/api/v1.0/revisions/1',
        buckets: ['nodes'],
        tags: ['committed', 'site-action-failure'],
        roles: ['last-site-action', 'committed'],
        kind: 'upload',
      },
      { id: 2, tags: [], roles: [] },
      { id: 3, buckets: ['nodes', 'strategy'], roles: ['buffer'] },
    ],
  });
  expect((await call('GET', '/revisions?order=desc&tag=committed&tag=site-action-failure')).body['count']).toBe(1);
  expect((await call('GET', '/revisions?tag=committed&tag=site-action-success')).body['count']).toBe(0);
  expect((await call('GET', '/revisions/1')).body).toMatchObject({
    id: 1,
    tags: { committed: {}, 'site-action-failure': { action: 'A' } },
  });
});

test('documents of a revision come as YAML or JSON, all or chosen', async () => {
  await twoRevisions();
  expect(await text('/revisions/1/documents')).toMatch(/^---\nschema: drydock[\s\S]*---\nschema/);
  const json = { Accept: 'application/json' };
  const all = JSON.parse(await text('/revisions/3/documents', json)) as unknown[];
  expect(all).toHaveLength(3);
  const chosen = await text('/revisions/3/documents?schema=drydock/BaremetalNode/v1&metadata.name=n3', json);
  expect(JSON.parse(chosen)).toMatchObject([{ metadata: { name: 'n3' }, status: { bucket: 'nodes', revision: 3 } }]);
  expect(JSON.parse(await text('/revisions/3/documents?status.bucket=strategy', json))).toHaveLength(1);
});

test('two revisions are compared, by collection and by value', async () => {
  await twoRevisions();
  expect((await call('GET', '/revisions/3/diff/1')).body).toEqual({ nodes: 'modified', strategy: 'created' });
  expect((await call('GET', '/revisions/2/diff/0')).body).toEqual({ nodes: 'created' });
  expect((await call('GET', '/revisions/2/diff/2')).body).toEqual({ nodes: 'unmodified' });
  const { body } = await call('GET', '/revisions/1/deepdiff/3');
  expect(body).toEqual({
    document_added: {
      count: 2,
      details: [
        { schema: 'drydock/BaremetalNode/v1', name: 'n3', collection: 'nodes' },
        { schema: 'shipyard/DeploymentStrategy/v1', name: 'deployment-strategy', collection: 'strategy' },
      ],
    },
    document_deleted: { count: 1, details: [{ schema: 'drydock/BaremetalNode/v1', name: 'n2', collection: 'nodes' }] },
    document_changed: {
      count: 1,
      details: [
        {
          schema: 'drydock/BaremetalNode/v1',
          name: 'n1',
          collection: 'nodes',
          changes: [{ path: 'data.metadata.rack', old: 'rack1', new: 'rack2' }],
        },
      ],
    },
  });
});

test('a rollback puts the old content into the buffer, byte for byte', async () => {
  await twoRevisions();
  await call('POST', '/commitconfigdocs');
  const rolled = await call('POST', '/rollback/1');
  expect(rolled).toMatchObject({
    status: 201,
    body: { id: 4, kind: 'rollback', rolled_back_to: 1, roles: ['buffer'] },
  });
  expect(await text('/configdocs/nodes?version=buffer')).toBe(nodeDocument('n1') + nodeDocument('n2'));
  expect((await call('GET', '/revisions/1/diff/4')).body).toEqual({ nodes: 'unmodified' });
  expect((await call('POST', '/commitconfigdocs')).status).toBe(200);
  expect((await call('POST', '/rollback/0')).body).toMatchObject({ id: 5, buckets: [] });
  // as before a commit: nothing is in the buffer then
  expect((await call('POST', '/rollback/4')).body).toMatchObject({ id: 6 });
  expect((await call('POST', '/commitconfigdocs')).status).toBe(409);
});

test('a rollback drops uploads that are not committed, unless it is asked not to', async () => {
  await twoRevisions();
  const refused = await call('POST', '/rollback/1?buffermode=rejectoncontents');
  expect(refused).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('The buffer is not empty: it changes') },
  });
  expect((await call('POST', '/rollback/1?buffermode=append')).status).toBe(400);
  expect((await call('POST', '/rollback/1')).status).toBe(201);
  expect((await call('POST', '/rollback/2?buffermode=rejectoncontents')).status).toBe(201);
});

test("tags are set, changed, shown and removed; the site's are nobody's to set", async () => {
  await twoRevisions();
  expect(await call('POST', '/revisions/2/tags/good', { because: 'it works' })).toMatchObject({
    status: 201,
    body: { good: { because: 'it works' } },
  });
  expect((await call('POST', '/revisions/2/tags/good')).body).toEqual({ good: {} });
  expect((await call('GET', '/revisions/2/tags')).body).toEqual({ good: {} });
  expect((await call('GET', '/revisions/2/tags/good')).body).toEqual({ good: {} });
  expect((await call('GET', '/revisions/2/tags/bad')).status).toBe(404);
  for (const tag of ['committed', 'site-action-success', 'site-action-failure']) {
    for (const method of ['POST', 'DELETE']) {
      const { status, body } = await call(method, `/revisions/1/tags/${tag}`);
      expect([status, body['message']]).toEqual([409, expect.stringContaining(`The tag ${tag} says`)]);
    }
  }
  expect((await call('DELETE', '/revisions/2/tags/good')).status).toBe(204);
  expect((await call('DELETE', '/revisions/2/tags/good')).status).toBe(404);
  await call('POST', '/revisions/1/tags/mine');
  expect((await call('DELETE', '/revisions/1/tags')).status).toBe(204);
  expect((await call('GET', '/revisions/1/tags')).body).toEqual({ committed: {} });
});

test.each([
  ['GET', '/revisions/9', 404, 'Revision 9 could not be found.'],
  ['GET', '/revisions/0', 404, 'Revision 0 could not be found.'],
  ['GET', '/revisions/x', 400, 'revision: must be the number of a revision'],
  ['GET', '/revisions/1.5', 400, 'must be the number of a revision'],
  ['GET', '/revisions/-1', 400, 'must be the number of a revision'],
  ['GET', '/revisions/9999999999', 400, 'too large'],
  ['GET', '/revisions?order=up', 400, 'must be asc or desc'],
  ['GET', '/revisions?colour=red', 400, 'colour'],
  ['GET', '/revisions/1/diff/9', 404, 'Revision 9 could not be found.'],
  ['GET', '/revisions/9/deepdiff/1', 404, 'Revision 9 could not be found.'],
  ['GET', '/revisions/9/documents', 404, 'Revision 9'],
  ['GET', '/revisions/9/tags', 404, 'Revision 9'],
  ['POST', '/revisions/9/tags/good', 404, 'Revision 9'],
  ['POST', '/revisions/1/tags/a%20b', 400, 'tag: must be up to 64'],
  ['DELETE', '/revisions/9/tags', 404, 'Revision 9'],
  ['POST', '/rollback/9', 404, 'Revision 9 could not be found.'],
  ['POST', '/rollback/last', 400, 'must be the number of a revision'],
])('%s %s is refused', async (method, path, status, message) => {
  await twoRevisions();
  const answer = await call(method, path);
  expect([answer.status, answer.body['message']]).toEqual([status, expect.stringContaining(message)]);
});

test.each(['[1, 2]', 'text', 'a: [', '{"a": "\\u0000"}'])('data %s of a tag is refused', async (body) => {
  await twoRevisions();
  const answer = await api.call('POST', `${airship}/revisions/1/tags/good`, body, '', { 'Content-Type': 'text/yaml' });
  expect([answer.status, answer.fault]).toEqual([400, expect.stringContaining('body: it must be a mapping')]);
});

test('one is deleted with its texts, unless it is needed', async () => {
  await twoRevisions();
  await upload('nodes', nodeDocument('n9'), '?buffermode=replace');
  const { db } = api.context;
  const texts = async () => (await db.select({ text: siteContents.text }).from(siteContents)).map((row) => row.text);
  expect((await texts()).join()).toContain('n3');
  for (const [id, message] of [
    [1, 'is what is committed'],
    [4, 'is the newest'],
  ] as const) {
    const refused = await call('DELETE', `/revisions/${id}?force=true`);
    expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining(message) } });
  }
  await call('POST', '/revisions/2/tags/kept', {});
  expect(await call('DELETE', '/revisions/2')).toMatchObject({ status: 409 });
  expect(await call('DELETE', '/revisions')).toMatchObject({ status: 405 });
  expect(await call('DELETE', '/revisions/2?force=true')).toMatchObject({ status: 204 });
  expect((await texts()).join()).toContain('n3');
  expect(await call('DELETE', '/revisions/3')).toMatchObject({ status: 204 });
  expect((await texts()).join()).not.toContain('n3');
  expect(await call('DELETE', '/revisions/3')).toMatchObject({ status: 404 });
  const { body } = await call('GET', '/revisions?order=desc&limit=1');
  expect((body['results'] as { id: number }[]).map(({ id }) => id)).toEqual([4]);
});

test('of what nobody has tagged the newest are kept, with their texts', async () => {
  await twoRevisions();
  for (const name of ['a', 'b', 'c']) await upload('nodes', nodeDocument(name), '?buffermode=replace');
  const { db } = api.context;
  await db.transaction((tx) => pruneRevisions(tx, 2));
  const { body } = await call('GET', '/revisions');
  expect((body['results'] as { id: number }[]).map(({ id }) => id)).toEqual([1, 5, 6]);
  expect(await db.select({ hash: siteContents.hash }).from(siteContents)).toHaveLength(3);
});
