import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flowSteps } from '#conductor/kernel/db/schema/flow.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/**
 * The calls of Shipyard's own client (airshipit/shipyard, `src/bin/shipyard_client/shipyard_client`), as Python's requests
 * writes them: `verbosity` with every one (`api_client/base_client.py`), lists one value after another, True and False.
 */

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

/** A document of which nothing is known: a warning. */
const other = 'schema: other/Thing/v1\nmetadata: {schema: metadata/Document/v1, name: o1}\ndata: {}\n';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const post = async (path: string, body = '', headers: Record<string, string> = yaml) => {
  const answer = await api.request(`${airship}${path}`, { method: 'POST', headers, body });
  return { status: answer.status, text: await answer.text() };
};
const get = async (path: string) => {
  const answer = await api.request(`${airship}${path}`);
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

const words = (text: string): string[] => text.split(' ');

/**
 * Keys that its printer reads (`cli/cli_format_common.py`; of notes and Status objects `cli/format_utils.py`).
 * `format_notes` prints "Unparseable Note" where one is missing, `gen_action_validations` breaks off, the rest prints
 * "None".
 */
const printed = {
  action: words(
    'name id action_lifecycle parameters datetime dag_status context_marker user steps command_audit validations notes',
  ),
  listedAction: words('id name action_lifecycle dag_execution_date steps notes'),
  listedStep: words('id index state notes'),
  step: words('task_id index state start_date end_date duration try_number operator notes'),
  command: words('command user datetime'),
  validation: words('validation_name action_id id details'),
  note: words('sub_type subject note_timestamp note_val resolved_url_value'),
  collection: words('collection_name base_status new_status base_version base_revision new_version new_revision'),
  status: words('message reason details'),
  message: words('level name message kind error documents'),
};

type Answer = Record<string, unknown>;
const expectKeys = (answer: unknown, keys: readonly string[]): void => {
  expect(Object.keys(answer as Answer)).toEqual(expect.arrayContaining([...keys]));
};

describe('cli/cli_format_common.py finds what it prints', () => {
  test('of an action with notes, steps, a validation and commands; of its ids', async () => {
    const { db } = api.context;
    await db.delete(siteActions);
    expect(await post('/configdocs/more?buffermode=append', other)).toMatchObject({ status: 201 });
    const committed = await post('/commitconfigdocs');
    expect(committed).toMatchObject({ status: 200 });
    const status = JSON.parse(committed.text) as Answer;
    expectKeys(status, printed.status);
    for (const message of (status['details'] as { messageList: unknown[] }).messageList) {
      expectKeys(message, printed.message);
    }
    for (const row of JSON.parse((await get('/configdocs')).text) as unknown[]) expectKeys(row, printed.collection);
    const made = await post(
      '/actions?allow-intermediate-commits=True',
      JSON.stringify({ name: 'deploy_site', parameters: {} }),
      { 'Content-Type': 'application/json' },
    );
    const { id } = JSON.parse(made.text) as { id: string };
    const times = { startedAt: new Date(1000), endedAt: new Date(3500) };
    await db
      .update(flowSteps)
      .set({ state: 'succeeded', ...times })
      .where(eq(flowSteps.step, 'preflight'));
    const action = JSON.parse((await get(`/actions/${id}`)).text) as Answer & {
      readonly notes: readonly (Answer & { readonly note_id: string })[];
      readonly steps: readonly Answer[];
      readonly validations: readonly (Answer & { readonly id: string; readonly details: string })[];
      readonly command_audit: readonly Answer[];
    };
    expectKeys(action, printed.action);
    expectKeys(action.notes[0], printed.note);
    expectKeys(action.steps[0], printed.listedStep);
    expectKeys(action.command_audit[0], printed.command);
    const [validation] = action.validations;
    const [note] = action.notes;
    if (!validation || !note) throw new Error('it has no validation or no note');
    expectKeys(validation, printed.validation);
    expect(validation.details).toMatch(/^Warning: other\/Thing\/v1 o1.*: /);
    expect(validation.id).toMatch(/^[0-9A-Za-z]{26}$/);
    expect(JSON.parse((await get(`/actions/${id}/validations/${validation.id}?verbosity=1`)).text)).toEqual(validation);
    expect(await get(`/actions/${id}/validations/7`)).toMatchObject({ status: 404 });
    expect(note.note_id).toMatch(/^[0-9A-Za-z]{26}$/);
    expect(await get(`/notedetails/${note.note_id}?verbosity=1`)).toEqual({ status: 200, text: note['note_val'] });
    expect(await get('/notedetails/01BTG32JW87G0YKA1KA9AKAAB3')).toMatchObject({ status: 404 });
    const step = JSON.parse((await get(`/actions/${id}/steps/preflight`)).text) as Answer;
    expectKeys(step, printed.step);
    // by these words it counts
    expect(step).toMatchObject({ state: 'success', task_id: 'preflight', duration: 2.5 });
    const [listed] = JSON.parse((await get('/actions')).text) as { readonly steps: readonly unknown[] }[];
    expectKeys(listed, printed.listedAction);
    expectKeys(listed?.steps[0], printed.listedStep);
  });
});
