import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addAction } from '#conductor/flows/site-actions/testing/add-action.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { readPluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { checkDocuments } from '#conductor/sites/revisions/check-revision.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { plainStrategy } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const path = '/api/v1.0/plugins';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.context.db.execute(sql`truncate plugins, site_revisions, site_contents, site_actions cascade`);
});
afterAll(() => api.close());

const tasks = `
- {id: x, role: '*', stage: post_deployment/100, type: shell, parameters: {cmd: ./deploy.sh, timeout: 42}}
- {role: [worker], stage: pre_deployment, type: reboot, parameters: {timeout: 600}}
`;
const content = Buffer.from('#!/bin/sh\n').toString('base64');
const files = { 'deploy.sh': { content, executable: true }, 'lib/a': { content } };
const upload = (more: Record<string, unknown> = {}) =>
  api.call('POST', path, { name: 'ntp', version: '1.0', title: 'Time', tasks, files, ...more });
const yaml = { 'Content-Type': 'application/x-yaml' };
const messages = (body: Record<string, unknown>): string[] =>
  (body['details'] as { messageList: { message: string }[] }).messageList.map(({ message }) => message);

describe('upload', () => {
  test('answers the plugin; the same again is no other', async () => {
    const { status, body } = await upload();
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'ntp',
      version: '1.0',
      title: 'Time',
      tasks_text: tasks,
      tasks: [
        {
          task: 1,
          id: 'x',
          role: '*',
          stage: 'post_deployment/100',
          type: 'shell',
          parameters: { cmd: './deploy.sh' },
        },
        { task: 2, id: null, role: ['worker'], stage: 'pre_deployment', type: 'reboot', parameters: { timeout: 600 } },
      ],
      files: [
        { path: 'lib/a', bytes: 10, executable: false },
        { path: 'deploy.sh', bytes: 10, executable: true },
      ].sort((a, b) => a.path.length - b.path.length),
    });
    expect(await upload()).toMatchObject({ status: 200, body });
    expect((await api.call('GET', `${path}/ntp/1.0`)).body).toEqual(body);
    expect(JSON.stringify(body)).not.toContain(content);
  });

  test('another content of the same version is refused', async () => {
    await upload();
    for (const more of [{ title: 'Clock' }, { tasks: `${tasks}\n` }, { files: {} }]) {
      expect(await upload(more)).toMatchObject({ status: 409, body: { kind: 'Status', code: 409 } });
    }
    expect(await upload({ version: '1.1', files: {} })).toMatchObject({ status: 201 });
  });

  test('all that is wrong is told at once, each with its place', async () => {
    const { status, body } = await upload({
      tasks: `
- {role: '*', stage: post_deployment/1e3, type: shell, parameters: {cmd: x, timeout: 0}}
`,
      files: { '../x': { content }, '/etc/passwd': { content }, a: { content }, 'a/b': { content } },
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      reason: 'InvalidPlugin',
      details: { errorCount: 5 },
    });
    expect(messages(body)).toEqual([
      expect.stringMatching(/^tasks.yaml: task 1: stage: "post_deployment\/1e3": it must be pre_deployment or/),
      'tasks.yaml: task 1: parameters.timeout: it must be above 0 seconds',
      expect.stringContaining('file "../x": it must be a path below'),
      expect.stringContaining('file "/etc/passwd": it must be'),
      'file a: it is the folder of a/b too',
    ]);
  });

  test('a circle within it, a bad name, what is not base64, too much', async () => {
    const circle = ['a', 'b']
      .map(
        (id, index) =>
          `- {id: ${id}, requires: [${['b', 'a'][index]}], role: x, stage: pre_deployment, type: reboot, parameters: {timeout: 1}}`,
      )
      .join('\n');
    expect(messages((await upload({ tasks: circle })).body)).toEqual([
      'these tasks wait for each other: ntp/b → ntp/a → ntp/b',
    ]);
    for (const more of [{ name: '../x' }, { version: 'a/b' }, { files: { a: { content: '!' } } }, { owner: 'me' }]) {
      expect((await upload(more)).status).toBe(400);
    }
    const large = Buffer.alloc(600 * 1024).toString('base64');
    expect(messages((await upload({ files: { a: { content: large }, b: { content: large } } })).body)).toEqual([
      'its files have 1228800 bytes: 1048576 at most',
    ]);
  });
});

test('the list is by name, then by when they came', async () => {
  for (const [name, version] of [
    ['ntp', '2.0'],
    ['ntp', '10.0'],
    ['Zabbix', '1'],
  ])
    await upload({ name, version });
  const { body } = await api.call('GET', path);
  expect(
    (body['plugins'] as { name: string; version: string }[]).map((each) => `${each.name} ${each.version}`),
  ).toEqual(['Zabbix 1', 'ntp 2.0', 'ntp 10.0']);
});

describe('order', () => {
  const order = async (query = '') => {
    const { status, body } = await api.call('GET', `${path}/order${query}`);
    const reported = (body['tasks'] ?? []) as { plugin: string; version: string; task: number }[];
    return { status, body, places: reported.map((each) => `${each.plugin} ${each.version} ${each.task}`) };
  };

  test('of those named, or of the newest of each; of one role', async () => {
    await upload();
    await upload({ version: '1.1' });
    await upload({ name: 'alpha' });
    expect((await order()).places).toEqual(['alpha 1.0 2', 'ntp 1.1 2', 'alpha 1.0 1', 'ntp 1.1 1']);
    expect((await order('?plugins=ntp@1.0')).places).toEqual(['ntp 1.0 2', 'ntp 1.0 1']);
    expect((await order('?plugins=ntp@1.0&role=control')).places).toEqual(['ntp 1.0 1']);
    const { body } = await order('?plugins=ntp@1.0');
    expect(body['tasks']).toMatchObject([
      {
        position: 1,
        reason: 'first of pre_deployment, with no postfix (0)',
        range: expect.stringContaining('hardware'),
      },
      { position: 2, reason: 'first of post_deployment, with postfix 100' },
    ]);
    expect(body['ranges']).toHaveLength(9);
    expect((await order('?plugins=ntp')).status).toBe(400);
    expect((await order('?plugins=ntp@9')).status).toBe(404);
    expect((await order('?version=latest')).status).toBe(400);
    expect((await order('?version=committed')).status).toBe(404);
    const buffer = await order('?version=buffer');
    expect([buffer.status, messages(buffer.body)]).toEqual([404, ['version: the buffer is empty']]);
  });

  test('tasks that can not be ordered are told', async () => {
    await upload({ tasks: tasks.replace('id: x', 'id: x, requires: [other/y]') });
    expect(messages((await order()).body)).toEqual([
      'plugin ntp: task 1 (post_deployment/100): requires names other/y, which no task of these plugins is: there are ntp/x',
    ]);
  });
});

describe('delete', () => {
  const document = `${plainStrategy}---
schema: baton/Plugin/v1
metadata: {schema: metadata/Document/v1, name: time}
data: {name: ntp, version: '1.0'}
`;
  const uploadDocuments = () => api.call('POST', '/api/v1.0/configdocs/site', document, '', yaml);

  test('goes, unless it is committed, or an action runs', async () => {
    await upload();
    await upload({ version: '1.1' });
    expect((await uploadDocuments()).body).toMatchObject({ status: 'Success' });
    expect((await api.call('POST', '/api/v1.0/commitconfigdocs', undefined, '')).status).toBe(200);
    expect((await api.call('GET', `${path}/order`)).body['tasks']).toHaveLength(2);
    expect(await api.call('DELETE', `${path}/ntp/1.0`)).toMatchObject({
      status: 409,
      body: { message: 'plugin ntp 1.0 stays while the committed documents name it: baton/Plugin/v1 time' },
    });
    await addAction(api.context.db, { id: 'A' });
    expect(await api.call('DELETE', `${path}/ntp/1.1`)).toMatchObject({ status: 409 });
    await api.context.db.execute(sql`update flows set ended_at = now()`);
    expect((await api.call('DELETE', `${path}/ntp/1.1`)).status).toBe(204);
    expect((await api.call('DELETE', `${path}/ntp/1.1`)).status).toBe(404);
    expect((await api.call('GET', `${path}/ntp/1.1`)).status).toBe(404);
  });

  test('stays while a node is deployed with it, or a flow has its tasks before it', async () => {
    const { db } = api.context;
    await upload({ version: '1.1' });
    await api.call('POST', '/api/v1.0/configdocs/site', document.replace("'1.0'", "'1.1'"), '', yaml);
    const revision = (await api.call('GET', '/api/v1.0/revisions?sort=id&order=desc')).body['results'] as {
      id: number;
    }[];
    const revisionId = revision[0]?.id ?? 0;
    const nodeUuid = await addAvailableNode(db, 'n1');
    await db.insert(siteNodes).values({ name: 'n1', nodeUuid, revisionId, designHash: 'x', actionId: 'A' });
    expect(await api.call('DELETE', `${path}/ntp/1.1`)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining(`nodes are deployed with it: 1 of revision ${revisionId}`) as unknown },
    });
    await db.delete(siteNodes);
    const flow = {
      uuid: 'a3e0f7d4-5d3c-4b6c-9b1f-0f6a8a3d2c11',
      nodeUuid,
      kind: 'deploy',
      state: 'running',
      requestedSteps: await readPluginSteps(db, [{ name: 'ntp', version: '1.1' }], ['control', 'worker']),
    } as const;
    await db.insert(flows).values({ ...flow, requestedSteps: [...flow.requestedSteps] });
    expect((await api.call('DELETE', `${path}/ntp/1.1`)).fault).toContain(`flow ${flow.uuid} has its tasks to run`);
    await db.update(flows).set({ endedAt: new Date() });
    expect((await api.call('DELETE', `${path}/ntp/1.1`)).status).toBe(204);
  });
});

test('another content under the same version is another plan, and another design', async () => {
  const read = async () => {
    const { site } = await checkDocuments(api.context, [
      {
        collection: 'site',
        schema: 'baton/Plugin/v1',
        name: 'time',
        metadata: { schema: 'metadata/Document/v1', name: 'time' },
        data: { name: 'ntp', version: '1.0' },
      },
    ]);
    const plugins = site?.plugins ?? [];
    const [step] = await readPluginSteps(api.context.db, plugins, ['worker']);
    return { design: plugins[0]?.content, plan: step?.plugin?.content };
  };
  await upload();
  const first = await read();
  expect(first.design).toMatch(/^[0-9a-f]{64}$/);
  expect(first.plan).toBe(first.design);
  expect((await api.call('DELETE', `${path}/ntp/1.0`)).status).toBe(204);
  await upload({ files: { 'deploy.sh': { content: 'AAAA', executable: true } } });
  const second = await read();
  expect(second.design).not.toBe(first.design);
  expect(second.plan).toBe(second.design);
});

test('tasks that can not be ordered are a fault of the site that has them', async () => {
  await upload({ tasks: tasks.replace('id: x', 'id: x, requires: [other/y]') });
  const answer = await api.call(
    'POST',
    '/api/v1.0/configdocs/site',
    `schema: baton/Plugin/v1\nmetadata: {schema: metadata/Document/v1, name: time}\ndata: {name: ntp, version: '1.0'}\n`,
    '',
    { 'Content-Type': 'application/x-yaml' },
  );
  expect(messages(answer.body)).toContainEqual(expect.stringContaining('requires names other/y, which no task'));
});
