import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { listTemplatesNamed } from '#conductor/templates/deploy-template.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.context.db.execute(sql`truncate deploy_templates cascade`);
});
afterAll(() => api.close());

const raid = {
  interface: 'raid',
  step: 'apply_configuration',
  args: { raid_config: { logical_disks: [] } },
  priority: 90,
};
const bios = { interface: 'bios', step: 'apply_configuration', args: { settings: [] }, priority: 150 };
const create = (more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/deploy_templates', { name: 'CUSTOM_RAID1', steps: [raid, bios], ...more });
const names = async (query: string): Promise<unknown> => {
  const { body, fault } = await api.call('GET', `/v1/deploy_templates${query}`);
  return fault ?? (body['deploy_templates'] as { name: string }[]).map((template) => template.name);
};
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('create answers the template in the order of its steps', async () => {
  const { status, headers, body, uuid } = await create({ extra: { why: 'mirror' } });
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`http://api.example/v1/deploy_templates/${uuid}`);
  expect(body).toMatchObject({ name: 'CUSTOM_RAID1', steps: [raid, bios], extra: { why: 'mirror' }, updated_at: null });
  const byName = await api.call('GET', '/v1/deploy_templates/CUSTOM_RAID1');
  expect(byName.body).toEqual((await api.call('GET', `/v1/deploy_templates/${uuid.toUpperCase()}`)).body);
  expect((await create({ name: 'CUSTOM_P', steps: [{ ...raid, priority: '0' }] })).body['steps']).toMatchObject([
    { priority: 0 },
  ]);
});

test('create refuses what is not a template, naming the field', async () => {
  const uuid = '11111111-1111-4111-8111-111111111111';
  await create({ uuid });
  expect(await create()).toMatchObject({
    status: 409,
    fault: 'A deploy template with name CUSTOM_RAID1 already exists.',
  });
  expect(await create({ name: 'CUSTOM_B', uuid })).toMatchObject({ status: 409, fault: containing(uuid) });
  expect(await create({ name: 'raid1' })).toMatchObject({ status: 400, fault: containing('name: must be CUSTOM_') });
  expect(await create({ name: 'CUSTOM_C', steps: [] })).toMatchObject({ status: 400, fault: containing('steps') });
  expect(await create({ name: 'CUSTOM_C', steps: [{ ...raid, priority: -1 }] })).toMatchObject({
    fault: containing('steps.0.priority'),
  });
  expect(await create({ name: 'CUSTOM_C', steps: [{ ...raid, interface: 'network' }] })).toMatchObject({
    fault: containing('steps.0.interface: must be one of vendor'),
  });
  expect(await create({ name: 'CUSTOM_C', steps: [raid, { ...raid, priority: 1 }] })).toMatchObject({
    fault: containing('Duplicates: raid.apply_configuration'),
  });
  const { args: _, ...withoutArgs } = raid;
  expect(await create({ name: 'CUSTOM_C', steps: [withoutArgs] })).toMatchObject({
    status: 400,
    fault: containing('steps.0.args: is missing: {} for none'),
  });
  expect(await create({ name: 'CUSTOM_C', steps: [{ ...raid, args: [] }] })).toMatchObject({
    fault: containing('steps.0.args: must be a JSON object'),
  });
  expect((await create({ name: 'CUSTOM_C', bogus: 1 })).fault).toContain('Unexpected arguments: bogus');
  expect(await names('')).toEqual(['CUSTOM_RAID1']);
  expect((await api.call('GET', '/v1/deploy_templates', undefined, '1.54')).status).toBe(404);
});

test('lists sort, page and choose fields', async () => {
  for (const name of ['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_C']) await create({ name });
  expect(await names('')).toEqual(['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_C']);
  expect(await names('?sort_key=name&sort_dir=desc')).toEqual(['CUSTOM_C', 'CUSTOM_B', 'CUSTOM_A']);
  expect(await names('?sort_key=steps')).toContain('invalid field for sorting');
  const page = await api.call('GET', '/v1/deploy_templates?limit=2&fields=uuid,steps');
  expect(page.body['deploy_templates']).toMatchObject([{ steps: [raid, bios] }, {}]);
  expect(page.body['deploy_templates']).not.toMatchObject([{ name: 'CUSTOM_B' }, {}]);
  const next = new URL(String(page.body['next']));
  expect(await names(next.search)).not.toContain('CUSTOM_B');
  expect((await api.call('GET', '/v1/deploy_templates?detail=true')).body['deploy_templates']).toMatchObject([
    { extra: {} },
    {},
    {},
  ]);
  expect(await names('?fields=bogus')).toBe("fields: a deploy template has no field 'bogus'");
});

test('change patches steps and name, and refuses what the template may not become', async () => {
  const { uuid } = await create();
  await create({ name: 'CUSTOM_OTHER' });
  const patch = (operations: unknown) => api.call('PATCH', '/v1/deploy_templates/CUSTOM_RAID1', operations);
  expect(
    await patch([
      { op: 'replace', path: '/steps/0/priority', value: 85 },
      { op: 'remove', path: '/steps/1' },
      { op: 'add', path: '/extra/a', value: 1 },
    ]),
  ).toMatchObject({ status: 200, body: { uuid, steps: [{ ...raid, priority: 85 }], extra: { a: 1 } } });
  expect((await patch([{ op: 'remove', path: '/steps/0' }])).fault).toContain('/steps: a template has at least one');
  expect((await patch([{ op: 'remove', path: '/name' }])).status).toBe(400);
  expect((await patch([{ op: 'replace', path: '/uuid', value: 'x' }])).fault).toContain('Cannot patch /uuid');
  expect((await patch([{ op: 'replace', path: '/name', value: 'CUSTOM_OTHER' }])).status).toBe(409);
  expect((await patch([{ op: 'replace', path: '/name', value: 'CUSTOM_NEW' }])).body).toMatchObject({
    name: 'CUSTOM_NEW',
    updated_at: containing('+00:00'),
  });
  expect((await patch([])).fault).toBe('Deploy template CUSTOM_RAID1 could not be found.');
});

test('delete by name; plans read templates by name', async () => {
  await create({ name: 'CUSTOM_B', steps: [bios] });
  await create({ name: 'CUSTOM_A', steps: [raid] });
  expect(await listTemplatesNamed(api.context.db, ['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_NONE'])).toMatchObject([
    { name: 'CUSTOM_A', steps: [raid] },
    { name: 'CUSTOM_B', steps: [bios] },
  ]);
  expect(await listTemplatesNamed(api.context.db, [])).toEqual([]);
  expect((await api.call('DELETE', '/v1/deploy_templates/CUSTOM_A')).status).toBe(204);
  expect(await api.call('DELETE', '/v1/deploy_templates/CUSTOM_A')).toMatchObject({ status: 404 });
  expect(await names('')).toEqual(['CUSTOM_B']);
});
