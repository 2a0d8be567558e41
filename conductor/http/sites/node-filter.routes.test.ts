import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeDocument, strategyDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  const groups = strategyDocument(
    '[{name: last, critical: false, depends_on: [first], selectors: []}, {name: first, critical: true, depends_on: [], selectors: [{node_names: [n2]}]}]',
  );
  const text = `${nodeDocument('n1')}${nodeDocument('n2')}${groups}`;
  await api.call('POST', `${airship}/configdocs/site`, text, '', yaml);
  await api.call('POST', `${airship}/commitconfigdocs`, undefined, '');
  await api.call('POST', `${airship}/configdocs/more`, nodeDocument('n3'), '', yaml);
  const broken = strategyDocument('[{name: a, critical: true, depends_on: [a], selectors: []}]');
  await api.call('POST', `${airship}/configdocs/site?buffermode=replace`, broken, '', yaml);
});
afterAll(() => api.close());

/** The answer is a list. */
async function namesOf(body: unknown): Promise<unknown> {
  const answer = await api.request(`${airship}/nodefilter`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

describe('POST /nodefilter', () => {
  test.each<[unknown, unknown, readonly string[]]>([
    ['committed', undefined, ['n1', 'n2']],
    [1, [{ node_names: ['n2'] }], ['n2']],
    ['deckhand+http://api.example/api/v1.0/revisions/2/rendered-documents', null, ['n3', 'n1', 'n2']],
    [
      'committed',
      { filter_set_type: 'union', filter_set: [{ filter_type: 'intersection', rack_names: ['rack1'], node_tags: [] }] },
      ['n1', 'n2'],
    ],
  ])('design_ref %j, node_filter %j', async (reference, filter, names) => {
    expect(await namesOf({ design_ref: reference, node_filter: filter })).toEqual(names);
  });

  test.each<[unknown, number, string]>([
    [
      { node_filter: null },
      400,
      'design_ref: must be a revision: its number, its role, or the address of its documents',
    ],
    [{ design_ref: 'newest' }, 400, 'design_ref: "newest" is not a revision of a site; it must be a number'],
    [
      { design_ref: 'deckhand+http://dh.example/api/v1.0/revisions/2/rendered-documents' },
      400,
      'design_ref: "dh.example" is another host than this one (api.example), whose revisions are not its',
    ],
    [{ design_ref: 99 }, 404, 'Revision 99 could not be found'],
    [{ design_ref: 'successful-site-action' }, 404, 'design_ref: there is no revision that is successful-site-action'],
    [{ design_ref: 1, node_filter: { filter_set: [{ node_tag: ['x'] }] } }, 400, 'node_filter.filter_set[0]: node_tag'],
    [{ design_ref: 'buffer' }, 400, 'design_ref: the documents of revision 3 are not a site'],
  ])('%j is refused', async (body, status, text) => {
    const answer = await api.call('POST', `${airship}/nodefilter`, body, '');
    expect([answer.status, answer.body['kind']]).toEqual([status, 'Status']);
    expect(answer.body['message']).toContain(text);
  });
});

describe('GET /site/groups', () => {
  test('the groups of the committed documents in their order, with their nodes', async () => {
    const answer = await api.call('GET', `${airship}/site/groups`, undefined, '');
    expect(answer).toMatchObject({
      status: 200,
      body: {
        revision: 1,
        strategy: 'deployment-strategy',
        max_parallel_groups: 1,
        groups: [
          { name: 'first', critical: true, depends_on: [], members: ['n2'] },
          { name: 'last', critical: false, depends_on: ['first'], members: ['n1', 'n2'] },
        ],
      },
    });
  });

  test('documents that are not a site are told with their faults', async () => {
    const answer = await api.call('GET', `${airship}/site/groups?version=buffer`, undefined, '');
    expect(answer.status).toBe(400);
    expect(answer.body['details']).toMatchObject({
      errorCount: 1,
      messageList: expect.arrayContaining([
        expect.objectContaining({ name: 'SelfDependency', path: 'data.groups[0].depends_on[0]' }),
      ]) as unknown,
    });
  });
});
