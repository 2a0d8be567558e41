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

test('since 1.112 a runbook has a name of its own, a description and traits', async () => {
  const newest = (method: string, rest: string, body?: unknown, who: Parameters<ApiWithCallers['as']>[0] = 'admin') =>
    stage.as(who, method, `${path}${rest}`, body, '1.112');
  const made = await newest('POST', '', { name: 'wipe.fast', steps, description: 'no questions' });
  expect(made).toMatchObject({ status: 201, body: { name: 'wipe.fast', description: 'no questions', traits: [] } });
  const older = (await stage.as('admin', 'GET', `${path}/wipe.fast`, undefined, '1.111')).body;
  expect(['description', 'traits'].filter((field) => field in older)).toEqual([]);
  expect(await stage.as('admin', 'POST', path, { name: 'wipe.slow', steps }, '1.111')).toMatchObject({
    status: 400,
    fault: containing('other names need API version 1.112'),
  });
  expect((await stage.as('admin', 'POST', path, { name: 'CUSTOM_D', steps, description: 'x' }, '1.111')).status).toBe(
    406,
  );
  for (const name of ['a/b', '', 'x'.repeat(256), made.uuid])
    expect(await newest('POST', '', { name, steps })).toMatchObject({ status: 400, fault: containing('name') });
  for (const body of [{ traits: ['CUSTOM_A'] }, { description: 'x'.repeat(256) }])
    expect((await newest('POST', '', { name: 'n', steps, ...body })).status).toBe(400);
  expect((await newest('PATCH', '/wipe.fast', [{ op: 'add', path: '/traits', value: [] }])).status).toBe(400);
  const describe = [{ op: 'replace', path: '/description', value: 'none' }];
  expect((await newest('PATCH', '/wipe.fast', describe)).body['description']).toBe('none');
  expect((await stage.as('admin', 'PATCH', `${path}/wipe.fast`, describe, '1.111')).status).toBe(406);
});

test('traits of a runbook are listed, replaced, added and removed, since 1.112', async () => {
  const ask = (method: string, rest = '', body?: unknown, version = '1.112') =>
    stage.as('admin', method, `${path}/kept/traits${rest}`, body, version);
  await stage.as('admin', 'POST', path, { name: 'kept', steps }, '1.112');
  const traits = async () => (await ask('GET')).body['traits'];
  for (const method of ['GET', 'DELETE']) expect((await ask(method, '', undefined, '1.111')).status).toBe(404);
  expect((await ask('PUT', '', { traits: ['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_A'] })).status).toBe(204);
  expect(await traits()).toEqual(['CUSTOM_A', 'CUSTOM_B']);
  const added = await ask('PUT', '/CUSTOM_C');
  expect(added.status).toBe(204);
  expect(added.headers.get('Location')).toContain('/v1/runbooks/kept/traits/CUSTOM_C');
  expect((await ask('PUT', '/CUSTOM_C')).status).toBe(204);
  expect((await ask('DELETE', '/CUSTOM_A')).status).toBe(204);
  expect((await ask('DELETE', '/CUSTOM_A')).status).toBe(204);
  expect(await traits()).toEqual(['CUSTOM_B', 'CUSTOM_C']);
  const shown = await stage.as('admin', 'GET', `${path}/kept`, undefined, '1.112');
  expect(shown.body['traits']).toEqual(['CUSTOM_B', 'CUSTOM_C']);
  expect((await ask('PUT', '/custom')).status).toBe(400);
  expect((await ask('PUT', '', { traits: ['x'] })).status).toBe(400);
  const many = Array.from({ length: 51 }, (_, index) => `CUSTOM_${index}`);
  expect(await ask('PUT', '', { traits: many })).toMatchObject({ status: 400, fault: containing('at most 50') });
  await ask('PUT', '', { traits: many.slice(1) });
  expect(await ask('PUT', '/CUSTOM_X')).toMatchObject({ status: 400, fault: containing('50 traits already') });
  expect((await ask('DELETE')).status).toBe(204);
  expect(await traits()).toEqual([]);
  expect((await stage.as('admin', 'GET', `${path}/nope/traits`, undefined, '1.112')).status).toBe(404);
});

test('a project changes the traits of its own runbooks alone, and reads those of public ones', async () => {
  await stage.as('owner admin', 'POST', path, { name: 'ours', steps }, '1.112');
  await stage.as('admin', 'POST', path, { name: 'wide', steps, public: true }, '1.112');
  const add = (who: Parameters<ApiWithCallers['as']>[0], name: string) =>
    stage.as(who, 'PUT', `${path}/${name}/traits/CUSTOM_A`, undefined, '1.112');
  expect((await add('owner admin', 'ours')).status).toBe(204);
  expect((await add('owner reader', 'ours')).status).toBe(403);
  expect((await add('other', 'ours')).status).toBe(404);
  expect((await add('owner admin', 'wide')).status).toBe(403);
  expect((await stage.as('owner reader', 'GET', `${path}/wide/traits`, undefined, '1.112')).body).toEqual({
    traits: [],
  });
});

test('a node needs one of the traits of a runbook since 1.112, and before it the trait that is its name', async () => {
  const node = { name: 'fits', driver: 'fake-hardware', owner: 'ours' };
  const { uuid } = await stage.as('admin', 'POST', '/v1/nodes', node);
  await stage.api.context.db.execute(`update nodes set provision_state = 'manageable' where uuid = '${uuid}'`);
  const own = [{ interface: 'bios', step: 'factory_reset', args: {}, order: 1 }];
  await stage.as('admin', 'POST', path, { name: 'CUSTOM_FIT', steps: own, public: true }, '1.112');
  const plan = (version: string) =>
    stage.as('owner member', 'POST', '/v1/nodes/fits/plan', { target: 'clean', runbook: 'CUSTOM_FIT' }, version);
  const ask = (version: string) =>
    stage.as(
      'owner member',
      'PUT',
      '/v1/nodes/fits/states/provision',
      { target: 'clean', runbook: 'CUSTOM_FIT' },
      version,
    );
  const fault = (text: string) => ({ status: 400, fault: containing(text) });
  expect(await ask('1.112')).toMatchObject(fault('it has no traits'));
  await stage.as('admin', 'PUT', `${path}/CUSTOM_FIT/traits`, { traits: ['CUSTOM_ONE', 'CUSTOM_TWO'] }, '1.112');
  expect(await ask('1.112')).toMatchObject(fault('add one of the traits CUSTOM_ONE, CUSTOM_TWO to the node first'));
  await stage.as('admin', 'PUT', '/v1/nodes/fits/traits/CUSTOM_TWO');
  expect(await ask('1.111')).toMatchObject(fault('add the trait CUSTOM_FIT to the node first'));
  expect((await plan('1.111')).fault).toContain('has not been approved');
  expect((await plan('1.112')).status).toBe(200);
  expect((await ask('1.112')).status).toBe(202);
});

test('a runbook that an older version makes has its name as its trait', async () => {
  await create('admin', 'CUSTOM_OLD');
  expect((await stage.as('admin', 'GET', `${path}/CUSTOM_OLD/traits`, undefined, '1.112')).body).toEqual({
    traits: ['CUSTOM_OLD'],
  });
});
