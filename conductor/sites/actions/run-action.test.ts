import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { getAction } from '#conductor/flows/site-actions/action-store.ts';
import { siteActionNodes } from '#conductor/kernel/db/schema/site-action.ts';
import { webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import { finalReport } from '#conductor/sites/actions/final-report.ts';
import { commitRevision, makeAction } from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld, makeSite, type WorldOptions } from '#conductor/sites/actions/testing/site-world.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { createLog } from '#shared/log.ts';
import { type ActionStage, openActionStage, seedSite } from '#test/support/action-stage.ts';

let actions: ActionStage;
beforeAll(async () => {
  actions = await openActionStage();
});
afterEach(() => actions.clear());
afterAll(() => actions.close());

const failing =
  (phase: string, prefix: string): NonNullable<WorldOptions['fate']> =>
  (node, at) =>
    at === phase && node.startsWith(prefix) ? { error: 'the BMC is on fire' } : {};

test('a strategy without groups: nothing is deployed, and the action is complete', async () => {
  const { id, world } = await actions.begin({ site: () => makeSite(seedNodes, { groups: [] }) });
  expect((await actions.ended(id)).state).toBe('succeeded');
  expect(world.begun).toEqual([]);
  expect(await actions.notes(id, 1)).toContain(
    'deployment strategy deployment-strategy has no groups: nothing is deployed',
  );
  expect(await actions.notes(id, 1)).toContain(
    'Warning there was nothing to deploy: the strategy of the documents has no groups',
  );
  expect(await actions.steps(id)).toContainEqual(['final_report', 'succeeded']);
});

test('the conductor’s log has the report: a line for each group, and the names of nodes by status', async () => {
  const { id } = await actions.begin({ fate: failing('deploy', 'compute') });
  await actions.ended(id);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    component: 'test',
    only: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const { context } = actions.api;
  const work = { context: { ...context, log }, action: await getAction(context.db, id) };
  await finalReport(work as unknown as Parameters<typeof finalReport>[0]);
  const ended = lines.filter(({ msg }) => msg === 'deployment group ended');
  expect(new Set(ended.map(({ group }) => group))).toEqual(new Set(seedStrategy.groups.map(({ name }) => name)));
  expect(ended[0]).toMatchObject({ level: 30, action: id, stage: expect.any(String) as unknown });
  const { nodes } = lines.find(({ msg }) => msg === 'nodes of a site action') as { nodes: Record<string, string[]> };
  expect(new Set(Object.values(nodes).flat())).toEqual(new Set(seedNodes.map(({ name }) => name)));
  expect(nodes['failure']).not.toEqual([]);
});

test('a success says nothing of nodes that no group chose', async () => {
  const [chosen, ...others] = seedNodes.map(({ name }) => name);
  const groups = [{ name: 'one', critical: true, depends_on: [], selectors: [{ node_names: [chosen ?? ''] }] }];
  const { id } = await actions.begin({ site: () => makeSite(seedNodes, { groups }) });
  expect((await actions.ended(id)).state).toBe('succeeded');
  expect(await actions.tags()).toMatchObject([{ tag: 'site-action-success', data: { except: others.toSorted() } }]);
});

test('groups without nodes: complete, with a warning', async () => {
  const [group] = seedStrategy.groups;
  if (!group) throw new Error('no group');
  const { success_criteria: _any, ...lenient } = group;
  const { id } = await actions.begin({ site: () => makeSite([], { groups: [{ ...lenient, depends_on: [] }] }) });
  expect((await actions.ended(id)).state).toBe('succeeded');
  expect(await actions.notes(id, 1)).toContainEqual(expect.stringContaining('Warning there was nothing to deploy: no'));
});

describe('the seed’s three runs', () => {
  test('all succeed: complete, and the revision is tagged', async () => {
    const { id, world, revision } = await actions.begin();
    const action = await actions.ended(id);
    expect(action).toMatchObject({ state: 'succeeded', error: null, validated: true, holder: null, expiresAt: null });
    expect(await actions.steps(id)).toEqual([
      ['preflight', 'succeeded'],
      ['validate_site_design', 'succeeded'],
      ['verify_site', 'succeeded'],
      ['baremetal_nodes', 'succeeded'],
      ['final_report', 'succeeded'],
      ['tag_revision', 'succeeded'],
    ]);
    const { nodes, conclusion } = await actions.report(id);
    expect(conclusion).toBe('success');
    expect(nodes.success).toHaveLength(seedNodes.length);
    expect(world.violations).toEqual([]);
    expect(new Set(world.begun).size).toBe(world.begun.length);
    const place = (step: string) => world.begun.findIndex((each) => each === step);
    expect(place('deploy ntp01')).toBeLessThan(place('prepare control01'));
    expect(place('deploy control01')).toBeLessThan(place('prepare compute11'));
    expect(await actions.tags()).toEqual([
      { tag: 'site-action-success', data: { action: id, dag_id: `baton_deploy_site.${id}` } },
    ]);
    const reported = await actions.notes(id, 1);
    expect(reported[0]).toBe(`Configdoc revision ${revision}`);
    expect(reported).toContain('Finish (success)');
    expect(reported.slice(-2)).toEqual([`revision ${revision} tagged site-action-success`, 'deploy_site succeeded']);
    const rows = await actions.api.context.db.select().from(siteActionNodes);
    expect(rows.every(({ phase, doing, endedAt }) => phase === null && doing === null && endedAt !== null)).toBe(true);
  });

  test('ntp-node fails in prepare: failed, tagged so, and what depends on it was never begun', async () => {
    const { id, world } = await actions.begin({ fate: failing('prepare', 'ntp') });
    const action = await actions.ended(id);
    expect(action).toMatchObject({
      state: 'failed',
      error: 'baremetal_nodes: critical groups failed: ntp-node, control-nodes',
    });
    const { conclusion, nodes } = await actions.report(id);
    expect(conclusion).toBe('failed due to critical group failed');
    expect(nodes.not_started).toHaveLength(10);
    expect(world.begun.filter((step) => /compute|control01/.test(step))).toEqual([]);
    expect((await actions.tags()).map(({ tag }) => tag)).toEqual(['site-action-failure']);
    expect(await actions.notes(id, 1)).toContain('ntp01: prepare failed: the BMC is on fire');
    expect(await actions.steps(id)).toContainEqual(['final_report', 'succeeded']);
  });

  test('compute-nodes-2 fails in deploy: complete, with what failed in the report', async () => {
    const { id } = await actions.begin({ fate: failing('deploy', 'compute2') });
    expect((await actions.ended(id)).state).toBe('succeeded');
    const { conclusion, nodes } = await actions.report(id);
    expect(conclusion).toBe('success with some nodes/groups failed');
    expect(nodes.failure).toEqual(['compute21', 'compute22', 'compute23', 'compute24']);
    expect((await actions.tags()).map(({ tag }) => tag)).toEqual(['site-action-success']);
    expect(await actions.notes(id, 1)).toContain('Finish (success with some nodes/groups failed)');
  });
});

test('webhooks that see everything are told of its beginning and its end', async () => {
  await actions.api.call('POST', '/v1/webhooks', { name: 'all', url: 'http://127.0.0.1:9/', events: ['site.action'] });
  await actions.api.call('POST', '/v1/webhooks', { name: 'ours', url: 'http://127.0.0.1:9/', project: 'ours' });
  const { id, revision } = await actions.begin();
  await actions.ended(id);
  const reported = await actions.api.context.db.select({ body: webhookDeliveries.body }).from(webhookDeliveries);
  expect(reported.map(({ body }) => body['data'])).toEqual(
    ['running', 'succeeded'].map((state) => ({
      action: { id, name: 'deploy_site' },
      state,
      error: null,
      user: 'ada',
      revision,
    })),
  );
});

test('a group whose time runs out is broken off, and nothing of it runs on', async () => {
  const [first] = seedStrategy.groups.filter(({ name }) => name === 'ntp-node');
  if (!first) throw new Error('no group');
  const site = makeSite(seedNodes, { groups: [{ ...first, prepare_timeout: 0.1 }] });
  const { id, world } = await actions.begin({ site: () => site, fate: () => ({ looks: Infinity }) });
  expect((await actions.ended(id)).state).toBe('failed');
  const { groups, nodes } = await actions.report(id);
  expect(groups[0]?.stage).toBe('failure');
  expect(nodes.failure).toEqual(['ntp01']);
  expect(world.begun).toEqual(['prepare ntp01']);
});

describe('before anything is touched', () => {
  test('documents that have gone bad since: failed, and not tagged', async () => {
    const state = { good: true };
    const world = createWorld(actions.api.context.db, { site: () => (state.good ? seedSite : undefined) });
    await commitRevision(actions.api.context);
    const id = await makeAction(actions.api.context, world.operations, { name: 'deploy_site' });
    state.good = false;
    actions.startLife(world.operations, 'a');
    const action = await actions.ended(id);
    expect(action.state).toBe('failed');
    expect(action.error).toContain('the documents are broken');
    expect(await actions.steps(id)).toEqual([
      ['preflight', 'succeeded'],
      ['validate_site_design', 'failed'],
      ['verify_site', 'skipped'],
      ['baremetal_nodes', 'skipped'],
      ['final_report', 'skipped'],
      ['tag_revision', 'skipped'],
    ]);
    expect(await actions.tags()).toEqual([]);
  });

  test('update_site needs something that is deployed, unless told otherwise', async () => {
    const { id } = await actions.begin({ name: 'update_site' });
    const action = await actions.ended(id);
    expect(action).toMatchObject({ state: 'failed', validated: false });
    expect(action.error).toContain('use deploy_site');
    expect(await actions.tags()).toEqual([]);
    const parameters = { 'continue-on-fail': 'true', 'allow-intermediate-commits': true };
    const again = await actions.begin({ name: 'update_site', parameters });
    expect((await actions.ended(again.id)).state).toBe('succeeded');
  });
});
