import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/**
 * The calls of Shipyard's own client (airshipit/shipyard, `src/bin/shipyard_client/shipyard_client`), as Python's requests
 * writes them: `verbosity` with every one (`api_client/base_client.py`), lists one value after another, True and False.
 */

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
let app: ReturnType<typeof createApp>;
beforeAll(async () => {
  api = await openTestApi();
  app = createApp(api.context);
});
afterAll(() => api.close());

const post = async (path: string, body = '', headers: Record<string, string> = yaml) => {
  const answer = await app.request(`http://api.example${airship}${path}`, { method: 'POST', headers, body });
  return { status: answer.status, text: await answer.text() };
};
const get = async (path: string) => {
  const answer = await app.request(`http://api.example${airship}${path}`);
  return { status: answer.status, text: await answer.text() };
};

describe('the calls of api_client/shipyard_api_client.py are understood', () => {
  test('documents, actions and what there is to see of them', async () => {
    expect(await post('/configdocs/design?buffermode=rejectoncontents&verbosity=1', nodeDocument('n1'))).toMatchObject({
      status: 201,
    });
    expect(await get('/configdocs/design?version=buffer&cleartext-secrets=true&verbosity=1')).toMatchObject({
      status: 200,
    });
    const compared = await get('/configdocs?versions=committed&versions=buffer&verbosity=1');
    expect(compared).toMatchObject({ status: 200, text: expect.stringContaining('"created"') as unknown });
    expect(await get('/renderedconfigdocs?version=buffer&cleartext-secrets=true&verbosity=1')).toMatchObject({
      status: 200,
    });
    expect(await post('/commitconfigdocs?force=False&dryrun=True&verbosity=1')).toMatchObject({ status: 200 });
    expect(await post('/commitconfigdocs?force=False&dryrun=False&verbosity=1')).toMatchObject({ status: 200 });
    const made = await post(
      '/actions?allow-intermediate-commits=False&verbosity=1',
      JSON.stringify({ name: 'deploy_site', parameters: {} }),
      { 'Content-Type': 'application/json' },
    );
    expect(made).toMatchObject({ status: 201 });
    const { id } = JSON.parse(made.text) as { id: string };
    const paths = [
      '/actions?verbosity=1',
      `/actions/${id}?verbosity=1`,
      `/actions/${id}/steps/preflight?verbosity=1`,
      `/actions/${id}/steps/preflight/logs?try=1&verbosity=1`,
      '/site_statuses?filters=nodes-provision-status%2Cmachines-power-state&verbosity=1',
    ];
    for (const path of paths) expect({ path, ...(await get(path)) }).toMatchObject({ path, status: 200 });
    expect(await post(`/actions/${id}/control/pause?verbosity=1`)).toMatchObject({ status: 202 });
  });

  test('what nobody knows is refused as before', async () => {
    expect(await get('/configdocs?versoins=buffer')).toMatchObject({
      status: 400,
      text: expect.stringContaining('Unexpected arguments: versoins') as unknown,
    });
    expect(await get('/actions?verbosity=9')).toMatchObject({ status: 400 });
  });
});
