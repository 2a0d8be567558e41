import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Status } from '#conductor/api/service.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';
import { nodeDocument, plainStrategy, strategyDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => forgetRevisions(api.context.db));
afterAll(() => api.close());

const upload = (collection: string, text: string, query = '') =>
  api.call('POST', `${airship}/configdocs/${collection}${query}`, text, '', yaml);
const commit = (query = '') => api.call('POST', `${airship}/commitconfigdocs${query}`, undefined, '');
/** Gets an answer that is not a JSON object. */
const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await api.request(`${airship}${path}`, { headers });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
};
const list = async (path: string) => JSON.parse((await get(path)).text) as Record<string, unknown>[];
const messagesOf = (body: Record<string, unknown>) =>
  (body['details'] as { messageList: { message: string; path: string; documents: { name: string }[] }[] }).messageList;

describe('an upload', () => {
  test('is in the buffer, validated, shown byte for byte, and committed', async () => {
    const text = `# ours\n${nodeDocument('n1')}`;
    const uploaded = await upload('nodes', text);
    expect(uploaded).toMatchObject({
      status: 201,
      body: { kind: 'Status', apiVersion: 'v1.0', metadata: {}, status: 'Success', reason: 'Validation', code: 201 },
    });
    expect(uploaded.body['details']).toMatchObject({ errorCount: 0, revision: 1 });
    expect(Status.parse(uploaded.body)).toEqual(uploaded.body);
    expect(await get('/configdocs/nodes')).toMatchObject({
      status: 200,
      type: 'application/x-yaml; charset=utf-8',
      text,
    });
    expect((await get('/configdocs/nodes?version=buffer')).text).toBe(text);
    expect((await get('/configdocs/nodes?version=committed')).status).toBe(404);
    expect(await list('/configdocs')).toEqual([
      {
        collection_name: 'nodes',
        base_version: 'committed',
        base_revision: 0,
        base_status: 'not present',
        new_version: 'buffer',
        new_revision: 1,
        new_status: 'created',
      },
    ]);
    expect(await commit()).toMatchObject({ status: 200, body: { status: 'Success', details: { revision: 1 } } });
    expect((await get('/configdocs/nodes?version=committed')).text).toBe(text);
    expect((await get('/configdocs/nodes?version=buffer')).status).toBe(404);
    expect(await list('/configdocs')).toMatchObject([{ base_revision: 1, new_revision: 1, new_status: 'unmodified' }]);
    expect(await commit()).toMatchObject({ status: 409, body: { reason: 'EmptyBuffer', retry: true } });
  });

  test('goes where its mode says', async () => {
    await upload('nodes', nodeDocument('n1'));
    await commit();
    await upload('nodes', nodeDocument('n2'));
    expect(await upload('more', plainStrategy)).toMatchObject({
      status: 409,
      body: { code: 409, reason: 'BufferNotEmpty' },
    });
    expect((await upload('more', plainStrategy, '?buffermode=rejectOnContents')).fault).toContain(
      'The buffer is not empty: it changes nodes.',
    );
    expect((await upload('more', plainStrategy, '?buffermode=')).fault).toContain('The buffer is not empty');
    expect((await upload('nodes', nodeDocument('n3'), '?buffermode=append')).fault).toContain('nodes already');
    expect((await upload('more', plainStrategy, '?buffermode=append')).status).toBe(201);
    expect((await upload('nodes', nodeDocument('n3'))).fault).toBe(
      'The buffer changes collection nodes already. Commit it first; or buffermode=replace puts this in its place, and ' +
        'drops what else the buffer changes: more.',
    );
    // the same as data, which clients put into their own words
    const { body } = await upload('nodes', nodeDocument('n3'));
    const remark = newRemark('buffer-changes-collection', { collection: 'nodes', dropped: ['more'] });
    expect(body).toMatchObject({ message: describeRemark(remark), details: { remark } });
    expect(Status.parse(body)).toEqual(body);
    // a reply that was lost: the same once more
    expect((await upload('more', plainStrategy, '?buffermode=append')).status).toBe(200);
    expect(await list('/configdocs')).toMatchObject([
      { collection_name: 'more', new_status: 'created' },
      { collection_name: 'nodes', new_status: 'modified' },
    ]);
    expect((await upload('strategy', plainStrategy, '?buffermode=REPLACE')).status).toBe(201);
    expect(await list('/configdocs')).toMatchObject([
      { collection_name: 'nodes', new_status: 'unmodified' },
      { collection_name: 'strategy', new_status: 'created' },
    ]);
    const message = expect.stringMatching(/^Collection nodes is removed, in the buffer: revision \d has no errors\.$/);
    expect(await upload('nodes', '', '?buffermode=append&empty-collection=true&dryrun=true')).toMatchObject({
      status: 200,
      body: { message: 'DRYRUN: collection nodes stays; without it the site has no errors.' },
    });
    const removal = '?buffermode=append&empty-collection=true';
    expect(await upload('nodes', '', removal)).toMatchObject({ status: 201, body: { message } });
    expect(await upload('nodes', '', removal)).toMatchObject({
      status: 200,
      body: { message: expect.stringMatching(/^Nothing has changed: no collection nodes; revision \d has/) },
    });
    expect((await list('/configdocs'))[0]).toMatchObject({ collection_name: 'nodes', new_status: 'deleted' });
  });

  test('that says what is there already changes nothing', async () => {
    await upload('nodes', nodeDocument('n1'));
    await commit();
    expect(await upload('nodes', nodeDocument('n1'))).toMatchObject({
      status: 200,
      body: { details: { revision: 1 } },
    });
    expect((await api.call('GET', `${airship}/revisions`)).body['count']).toBe(1);
    expect((await upload('none', '', '?empty-collection')).status).toBe(200);
  });

  test.each<[string, string, string, number, string]>([
    ['nodes', nodeDocument('n1'), '?buffermode=merge', 400, 'buffermode: must be one of append, replace, rejectonc'],
    ['nodes', nodeDocument('n1'), '?mode=append', 400, 'Unexpected arguments: mode'],
    ['nodes', nodeDocument('n1'), '?empty-collection=maybe', 400, 'empty-collection'],
    ['nodes', nodeDocument('n1'), '?empty-collection=true', 400, 'the body has documents'],
    ['nodes', '', '', 400, 'empty-collection=true'],
    ['nodes', '# nothing\n---\n', '', 400, 'it has no documents'],
    ['nodes', 'a: [', '', 400, 'The upload can'],
    ['nodes', 'just text', '', 400, 'The upload can'],
    ['nodes', 'schema: x/Y/v1', '', 400, 'The upload can'],
    ['nodes', `${nodeDocument('n1')}  x: "a\\0b"`, '', 400, 'The upload can'],
    ['nodes', `${nodeDocument('n1')}  x: "\\uD800"`, '', 400, 'The upload can'],
    ['nodes', `${nodeDocument('n1')}\n${nodeDocument('n1')}`, '', 400, 'The upload can'],
    ['nodes', 'a\0b', '', 400, 'U+0000'],
    ['no%20des', nodeDocument('n1'), '', 400, 'collection: must be up to 128 letters'],
    ['a%00b', nodeDocument('n1'), '', 400, 'U+0000'],
  ])('%s with %j%s is refused', async (collection, text, query, status, fault) => {
    const answer = await upload(collection, text, query);
    expect([answer.status, answer.fault]).toEqual([status, expect.stringContaining(fault)]);
    expect(answer.body).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
    expect((await api.call('GET', `${airship}/revisions`)).body['count']).toBe(0);
  });

  test('that is not UTF-8 is refused', async () => {
    const answer = await api.request(`${airship}/configdocs/nodes`, {
      method: 'POST',
      headers: yaml,
      body: new Uint8Array([0x61, 0xff, 0xfe]),
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { message: expect.stringContaining('UTF-8') }]);
  });

  test('takes any content type, JSON among them', async () => {
    const document = { schema: 'x/Y/v1', metadata: { name: 'z' }, data: {} };
    expect((await api.call('POST', `${airship}/configdocs/json`, document, '')).status).toBe(201);
    expect(
      (await api.call('POST', `${airship}/configdocs/text`, plainStrategy, '', { 'Content-Type': 'text/plain' }))
        .status,
    ).toBe(409);
  });

  test('may not have what another collection has', async () => {
    await upload('nodes', nodeDocument('n1'));
    const answer = await upload('others', `${plainStrategy}${nodeDocument('n1')}`, '?buffermode=append');
    expect([answer.status, answer.fault]).toEqual([
      409,
      'Document drydock/BaremetalNode/v1 n1 is in collection nodes already; take it out there first',
    ]);
  });

  test('that is only looked at is judged with the rest, and not stored', async () => {
    await upload('nodes', nodeDocument('n1'));
    const missing = strategyDocument('[{name: a, critical: true, depends_on: [b], selectors: []}]');
    const answer = await upload('strategy', missing, '?dryrun');
    expect(answer).toMatchObject({ status: 200, body: { status: 'Failure', details: { errorCount: 1 } } });
    expect(answer.fault).toContain('DRYRUN');
    expect((await upload('strategy', plainStrategy, '?dryrun=true')).body).toMatchObject({ status: 'Success' });
    expect((await api.call('GET', `${airship}/revisions`)).body['count']).toBe(1);
  });
});

describe('a commit', () => {
  const cycle = strategyDocument(
    '[{name: a, critical: true, depends_on: [b], selectors: []}, {name: b, critical: true, depends_on: [a], selectors: []}]',
  );

  test('of documents with errors is refused with all of them, unless it is forced', async () => {
    const uploaded = await upload('site', `${cycle}${nodeDocument('n1', '  host_profile: none\n')}`);
    expect(uploaded).toMatchObject({ status: 201, body: { status: 'Failure' } });
    const refused = await commit();
    expect(refused).toMatchObject({
      status: 400,
      body: { status: 'Failure', reason: 'InvalidConfigurationDocuments', code: 400 },
    });
    expect(Status.parse(refused.body)).toEqual(refused.body);
    const messages = messagesOf(refused.body);
    expect(messages).toContainEqual(
      expect.objectContaining({
        error: true,
        kind: 'ValidationMessage',
        level: 'Error',
        path: 'data.host_profile',
        documents: [{ schema: 'drydock/BaremetalNode/v1', name: 'n1', collection: 'site' }],
      }),
    );
    expect(messages.some(({ documents }) => documents[0]?.name === 'deployment-strategy')).toBe(true);
    expect((await commit('?dryrun=true&force=true')).body).toMatchObject({ status: 'Failure', code: 200 });
    expect((await api.call('GET', `${airship}/revisions/1`)).body['tags']).toEqual({});
    const forced = await commit('?force');
    expect(forced).toMatchObject({ status: 200, body: { status: 'Failure' } });
    expect(forced.fault).toContain('FORCED SUCCESS');
    expect((await api.call('GET', `${airship}/revisions/1`)).body).toMatchObject({
      tags: { committed: {} },
      roles: ['committed'],
    });
  });

  test('that is dry tells and changes nothing', async () => {
    await upload('nodes', nodeDocument('n1'));
    const dry = await commit('?dryrun');
    expect([dry.status, dry.fault]).toEqual([200, expect.stringContaining('DRYRUN')]);
    expect((await api.call('GET', `${airship}/revisions/1`)).body['tags']).toEqual({});
  });

  test('of nothing is refused, and of bad words', async () => {
    expect(await commit()).toMatchObject({ status: 409, body: { retry: true } });
    expect((await commit('?force=perhaps')).status).toBe(400);
    expect((await commit('?really')).fault).toContain('really');
  });
});

describe('versions', () => {
  test.each([
    ['?versions=committed', 'two different ones'],
    ['?versions=committed,committed', 'two different ones'],
    ['?versions=committed,buffer,last_site_action', 'two different ones'],
    ['?versions=committed,future', "'future' must be one of successful-site-action"],
    ['?versions=committed,buffer&base-version=buffer', 'given together with base-version'],
    ['?base-version=buffer', 'two different ones'],
    ['?diff-version=newest', "diff-version: 'newest' must be one of"],
  ])('%s is refused', async (query, text) => {
    const { status, body } = await api.call('GET', `${airship}/configdocs${query}`);
    expect([status, body['message']]).toEqual([400, expect.stringContaining(text)]);
  });

  test('that are not there are told', async () => {
    await upload('nodes', nodeDocument('n1'));
    for (const query of [
      '?base-version=committed',
      '?versions=buffer,last_site_action',
      '?diff-version=successful-site-action',
    ])
      expect([query, (await api.call('GET', `${airship}/configdocs${query}`)).status]).toEqual([query, 404]);
    expect((await api.call('GET', `${airship}/configdocs/nodes?version=past`)).status).toBe(400);
  });

  test('are revisions by their numbers, too', async () => {
    await upload('nodes', nodeDocument('n1'));
    await commit();
    await upload('nodes', nodeDocument('n2'), '?buffermode=replace');
    expect(await list('/configdocs?base-version=1&diff-version=2')).toMatchObject([
      { base_version: 1, base_revision: 1, new_version: 2, new_revision: 2, new_status: 'modified' },
    ]);
    expect(await list('/configdocs?base-version=0&diff-version=committed')).toMatchObject([
      { collection_name: 'nodes', base_revision: 0, new_revision: 1, new_status: 'created' },
    ]);
    expect((await get('/configdocs/nodes?version=1')).text).toBe(nodeDocument('n1'));
    expect((await get('/renderedconfigdocs?version=1')).text).toContain('n1');
    for (const path of ['/configdocs?diff-version=9', '/configdocs/nodes?version=9', '/renderedconfigdocs?version=9'])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    expect((await get('/configdocs?base-version=2&diff-version=2')).status).toBe(400);
    expect((await get('/configdocs/nodes?version=-1')).text).toContain("or a revision's number");
  });

  test('come in order, whatever order they are asked in', async () => {
    await upload('nodes', nodeDocument('n1'));
    await commit();
    await upload('nodes', nodeDocument('n2'));
    const rows = await list('/configdocs?versions=buffer,committed');
    expect(rows).toMatchObject([{ base_version: 'committed', new_version: 'buffer', new_status: 'modified' }]);
    expect(await list('/configdocs?base-version=buffer&diff-version=committed')).toMatchObject([
      { base_version: 'buffer', base_revision: 2, new_version: 'committed', new_revision: 1 },
    ]);
  });
});

test('rendered documents have what their profiles say', async () => {
  const profile = `---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: compute}
data: {boot_mode: uefi, metadata: {tags: [compute]}}
`;
  await upload('nodes', `${profile}${nodeDocument('n1', '  host_profile: compute\n')}`);
  const rendered = JSON.parse((await get('/renderedconfigdocs', { Accept: 'application/json' })).text) as unknown;
  expect(rendered).toMatchObject([
    { schema: 'drydock/HostProfile/v1' },
    { metadata: { name: 'n1' }, data: { boot_mode: 'uefi', metadata: { tags: ['worker', 'compute'], rack: 'rack1' } } },
  ]);
  expect((await get('/renderedconfigdocs?version=buffer')).text).toContain('boot_mode: uefi');
  expect((await get('/renderedconfigdocs?version=committed')).status).toBe(404);
  await upload('nodes', nodeDocument('n1', '  host_profile: none\n'), '?buffermode=replace');
  expect(await api.call('GET', `${airship}/renderedconfigdocs`)).toMatchObject({
    status: 400,
    body: { reason: 'InvalidConfigurationDocuments' },
  });
});

test('errors below /api/ are Status objects, no matter what refuses', async () => {
  expect(await api.call('GET', `${airship}/nothing`)).toMatchObject({
    status: 404,
    body: { kind: 'Status', reason: 'NotFound', code: 404, details: { errorCount: 1 } },
  });
  expect(await api.call('DELETE', `${airship}/commitconfigdocs`)).toMatchObject({
    status: 405,
    body: { kind: 'Status', reason: 'MethodNotAllowed' },
  });
  expect((await api.call('GET', '/versions')).body).toEqual({ 'v1.0': { path: '/api/v1.0', status: 'stable' } });
  expect((await get('/health')).status).toBe(204);
});
