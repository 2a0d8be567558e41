import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiWithCallers, openApiWithCallers } from '#test/support/api-with-callers.ts';

let stage: ApiWithCallers;
beforeAll(async () => {
  stage = await openApiWithCallers();
});
afterAll(() => stage.api.close());

const path = '/v1/runbooks';
const latest = '1.96';
const steps = [
  { interface: 'management', step: 'reset_bmc', args: {}, order: 2 },
  { interface: 'bios', step: 'apply_configuration', args: { settings: [{ name: 'A', value: '1' }] }, order: 1 },
];
const containing = (text: string) => expect.stringContaining(text) as unknown;
const create = (who: Parameters<ApiWithCallers['as']>[0], name: string, more: object = {}) =>
  stage.as(who, 'POST', path, { name, steps, ...more }, latest);
const namesFor = async (who: Parameters<ApiWithCallers['as']>[0]) => {
  const { body } = await stage.as(who, 'GET', path, undefined, latest);
  return (body['runbooks'] as { name: string }[]).map(({ name }) => name).sort();
};

test('a project has its own and the public ones, and changes its own alone', async () => {
  expect((await create('admin', 'CUSTOM_PUBLIC', { public: true })).body).toMatchObject({ owner: null, steps });
  expect((await create('admin', 'CUSTOM_INNER')).body).toMatchObject({ owner: null, public: false });
  expect((await create('owner admin', 'CUSTOM_OURS')).body).toMatchObject({ owner: 'ours', public: false });
  expect(await namesFor('reader')).toEqual(['CUSTOM_INNER', 'CUSTOM_OURS', 'CUSTOM_PUBLIC']);
  expect(await namesFor('owner reader')).toEqual(['CUSTOM_OURS', 'CUSTOM_PUBLIC']);
  expect(await namesFor('other')).toEqual(['CUSTOM_PUBLIC']);

  const patch = (who: Parameters<ApiWithCallers['as']>[0], name: string, field: string, value: unknown) =>
    stage.as(who, 'PATCH', `${path}/${name}`, [{ op: 'replace', path: `/${field}`, value }], latest);
  expect((await patch('other', 'CUSTOM_OURS', 'extra', { a: 1 })).status).toBe(404);
  expect((await patch('owner admin', 'CUSTOM_PUBLIC', 'extra', { a: 1 })).status).toBe(403);
  expect((await patch('owner admin', 'CUSTOM_OURS', 'public', true)).status).toBe(403);
  expect((await patch('owner admin', 'CUSTOM_OURS', 'owner', 'other')).status).toBe(403);
  expect((await patch('owner admin', 'CUSTOM_OURS', 'extra', { a: 1 })).body).toMatchObject({ extra: { a: 1 } });
  expect((await create('owner admin', 'CUSTOM_WIDE', { public: true })).status).toBe(403);
  expect((await create('owner admin', 'CUSTOM_GIFT', { owner: 'other' })).status).toBe(403);
  expect((await create('owner reader', 'CUSTOM_READER')).status).toBe(403);
  expect((await stage.as('other', 'DELETE', `${path}/CUSTOM_OURS`, undefined, latest)).status).toBe(404);
  // what becomes everybody's belongs to nobody
  expect((await patch('admin', 'CUSTOM_OURS', 'public', true)).body).toMatchObject({ owner: null, public: true });
  expect((await stage.as('admin', 'DELETE', `${path}/CUSTOM_OURS`, undefined, latest)).status).toBe(204);
});

test('what is not a runbook is refused, naming the field', async () => {
  expect(await create('admin', 'inner')).toMatchObject({ status: 400, fault: containing('name') });
  expect(await create('admin', 'CUSTOM_A', { steps: [] })).toMatchObject({ status: 400, fault: containing('steps') });
  const [step] = steps;
  expect((await create('admin', 'CUSTOM_A', { steps: [{ ...step, order: -1 }] })).fault).toContain('order');
  expect((await create('admin', 'CUSTOM_PUBLIC', {})).status).toBe(409);
  expect((await stage.as('admin', 'POST', path, { name: 'CUSTOM_A', steps }, '1.91')).status).toBe(405);
  expect((await stage.as('admin', 'GET', path, undefined, '1.91')).status).toBe(404);
});

test('secrets in arguments are shown to nobody and kept when they are written back', async () => {
  const secret = [{ interface: 'deploy', step: 'inject', args: { password: 'open sesame' }, order: 1 }];
  const made = await create('admin', 'CUSTOM_SECRET', { steps: secret });
  expect(JSON.stringify(made.body)).not.toContain('open sesame');
  const masked = made.body['steps'];
  const value = [{ ...steps[0], order: 0 }, ...(masked as object[])];
  await stage.as('admin', 'PATCH', `${path}/CUSTOM_SECRET`, [{ op: 'replace', path: '/steps', value }], latest);
  const { uuid } = await stage.as('admin', 'GET', `${path}/CUSTOM_SECRET`, undefined, latest);
  expect(uuid).toBe(made.uuid);
  const rows = await stage.api.context.db.execute('select args::text from runbook_steps');
  expect(JSON.stringify(rows)).not.toContain('open sesame');
});

test('a node with its trait is cleaned by it, in the order of its steps', async () => {
  const node = { name: 'run', driver: 'fake-hardware', owner: 'ours' };
  const { uuid } = await stage.as('admin', 'POST', '/v1/nodes', node);
  await stage.api.context.db.execute(`update nodes set provision_state = 'manageable' where uuid = '${uuid}'`);
  const settings = [{ name: 'SysProfile', value: 'Performance' }];
  await create('admin', 'CUSTOM_RUN', {
    public: true,
    steps: [
      { interface: 'bios', step: 'factory_reset', args: {}, order: 9 },
      { interface: 'bios', step: 'apply_configuration', args: { settings }, order: 3 },
    ],
  });
  const ask = (body: object) =>
    stage.as('owner member', 'PUT', '/v1/nodes/run/states/provision', { target: 'clean', ...body }, latest);
  expect(await ask({ runbook: 'CUSTOM_RUN' })).toMatchObject({
    status: 400,
    fault: containing('CUSTOM_RUN has not been approved for node'),
  });
  await stage.as('admin', 'PUT', '/v1/nodes/run/traits/CUSTOM_RUN');
  expect((await ask({ runbook: 'CUSTOM_INNER' })).status).toBe(404);
  const both = { runbook: 'CUSTOM_RUN', clean_steps: [{ interface: 'bios', step: 'factory_reset', args: {} }] };
  expect(await ask(both)).toMatchObject({ status: 400, fault: containing('clean_steps') });
  expect((await ask({})).fault).toContain('clean_steps');

  const plan = await stage.as(
    'owner member',
    'POST',
    '/v1/nodes/run/plan',
    { target: 'clean', runbook: 'CUSTOM_RUN' },
    latest,
  );
  const planned = (plan.body['steps'] as { interface: string; step: string }[])
    .filter(({ interface: kind }) => kind === 'bios')
    .map(({ step }) => step);
  expect(planned).toEqual(['apply_configuration', 'factory_reset']);
  expect((await ask({ runbook: 'CUSTOM_RUN' })).status).toBe(202);
  const { body } = await stage.as('admin', 'GET', '/v1/nodes/run/flow');
  expect(body).toMatchObject({ kind: 'manual_clean' });
});
