import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { anybody } from '#conductor/auth/caller.ts';
import { siteActionNodes } from '#conductor/db/schema/site-action.ts';
import { webhookDeliveries } from '#conductor/db/schema/webhook.ts';
import { listActionSteps } from '#conductor/sites/actions/action-store.ts';
import { controlAction } from '#conductor/sites/actions/control-action.ts';
import { listNotes } from '#conductor/sites/actions/note-store.ts';
import { loadRun } from '#conductor/sites/actions/run-store.ts';
import {
  actionBecomes,
  commitRevision,
  expireLease,
  forgetActions,
  hasEnded,
  longAgo,
  makeAction,
  type RunnerLife,
  startLife,
} from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld, makeSite, type WorldOptions } from '#conductor/sites/actions/testing/site-world.ts';
import { viewActionNodes } from '#conductor/sites/actions/view-groups.ts';
import { listTags } from '#conductor/sites/revisions/revision-store.ts';
import { reportSite } from '#conductor/sites/strategy/report.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { eventually } from '#test/support/eventually.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let lives: RunnerLife[] = [];
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_SITE_BEAT_INTERVAL: '0.02', BATON_RECONCILE_INTERVAL: '0.05' } });
});
beforeEach(() => forgetActions(api.context));
afterEach(async () => {
  await Promise.all(lives.map((life) => life.stop()));
  lives = [];
});
afterAll(() => api.close());

const seedSite = makeSite(seedNodes, seedStrategy);

async function begin(options: Partial<WorldOptions> & { name?: string; parameters?: Record<string, unknown> } = {}) {
  const { name = 'deploy_site', parameters = {}, ...rest } = options;
  const world = createWorld(api.context.db, { site: () => seedSite, ...rest });
  const revision = await commitRevision(api.context);
  const id = await makeAction(api.context, world.hands, { name, parameters });
  const life = startLife(api.context, world.hands, { name: 'a' });
  lives.push(life);
  return { id, world, revision, life };
}

const ended = (id: string) => actionBecomes(api.context, id, hasEnded);
const steps = async (id: string) =>
  (await listActionSteps(api.context.db, [id])).map(({ name, state }) => [name, state]);
const tags = async () =>
  (await listTags(api.context.db)).filter(({ tag }) => tag !== 'committed').map(({ tag, data }) => ({ tag, data }));
const report = async (id: string) => {
  const run = await loadRun(api.context.db, id, 1);
  if (!run) throw new Error('no run');
  return reportSite(run);
};
const notes = async (id: string, verbosity = 5) =>
  (await listNotes(api.context.db, [id], { verbosity })).map(({ subject, text }) =>
    subject ? `${subject}: ${text}` : text,
  );
const control = (id: string, verb: string) => controlAction(api.context, id, { verb, caller: anybody });

const failing =
  (phase: string, prefix: string): NonNullable<WorldOptions['fate']> =>
  (node, at) =>
    at === phase && node.startsWith(prefix) ? { error: 'the BMC is on fire' } : {};

const atWork =
  (name: string): NonNullable<WorldOptions['fate']> =>
  (node) =>
    node === name ? { looks: Infinity } : {};

test('a strategy without groups: nothing is deployed, and the action is complete', async () => {
  const { id, world } = await begin({ site: () => makeSite(seedNodes, { groups: [] }) });
  expect((await ended(id)).state).toBe('complete');
  expect(world.begun).toEqual([]);
  expect(await notes(id, 1)).toContain('deployment strategy deployment-strategy has no groups: nothing is deployed');
  expect(await steps(id)).toContainEqual(['final_report', 'done']);
});

describe('the seed’s three runs', () => {
  test('all succeed: complete, and the revision is tagged', async () => {
    const { id, world, revision } = await begin();
    const action = await ended(id);
    expect(action).toMatchObject({ state: 'complete', error: null, validated: true, holder: null, expiresAt: null });
    expect(await steps(id)).toEqual([
      ['preflight', 'done'],
      ['validate_site_design', 'done'],
      ['verify_site', 'done'],
      ['baremetal_nodes', 'done'],
      ['final_report', 'done'],
      ['tag_revision', 'done'],
    ]);
    const { nodes, conclusion } = await report(id);
    expect(conclusion).toBe('success');
    expect(nodes.success).toHaveLength(seedNodes.length);
    expect(world.violations).toEqual([]);
    expect(new Set(world.begun).size).toBe(world.begun.length);
    const place = (step: string) => world.begun.findIndex((each) => each === step);
    expect(place('deploy ntp01')).toBeLessThan(place('prepare control01'));
    expect(place('deploy control01')).toBeLessThan(place('prepare compute11'));
    expect(await tags()).toEqual([
      { tag: 'site-action-success', data: { action: id, dag_id: `baton_deploy_site.${id}` } },
    ]);
    const told = await notes(id, 1);
    expect(told[0]).toBe(`Configdoc revision ${revision}`);
    expect(told).toContain('Finish (success)');
    expect(told.at(-1)).toBe(`deploy_site complete; revision ${revision} tagged site-action-success`);
    const rows = await api.context.db.select().from(siteActionNodes);
    expect(rows.every(({ phase, doing, endedAt }) => phase === null && doing === null && endedAt !== null)).toBe(true);
  });

  test('ntp-node fails in prepare: failed, tagged so, and what depends on it was never begun', async () => {
    const { id, world } = await begin({ fate: failing('prepare', 'ntp') });
    const action = await ended(id);
    expect(action).toMatchObject({
      state: 'failed',
      error: 'baremetal_nodes: critical groups failed: ntp-node, control-nodes',
    });
    const { conclusion, nodes } = await report(id);
    expect(conclusion).toBe('failed due to critical group failed');
    expect(nodes.not_started).toHaveLength(10);
    expect(world.begun.filter((step) => /compute|control01/.test(step))).toEqual([]);
    expect((await tags()).map(({ tag }) => tag)).toEqual(['site-action-failure']);
    expect(await notes(id, 1)).toContain('ntp01: prepare failed: the BMC is on fire');
    expect(await steps(id)).toContainEqual(['final_report', 'done']);
  });

  test('compute-nodes-2 fails in deploy: complete, with what failed in the report', async () => {
    const { id } = await begin({ fate: failing('deploy', 'compute2') });
    expect((await ended(id)).state).toBe('complete');
    const { conclusion, nodes } = await report(id);
    expect(conclusion).toBe('success with some nodes/groups failed');
    expect(nodes.failure).toEqual(['compute21', 'compute22', 'compute23', 'compute24']);
    expect((await tags()).map(({ tag }) => tag)).toEqual(['site-action-success']);
    expect(await notes(id, 1)).toContain('Finish (success with some nodes/groups failed)');
  });
});

describe('an operator', () => {
  test('pauses: nodes at work end their phase, nothing is begun, until it is unpaused', async () => {
    const hold = { looks: Infinity };
    const { id, world } = await begin({ fate: (node, phase) => (node === 'ntp01' && phase === 'prepare' ? hold : {}) });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await control(id, 'pause');
    await actionBecomes(api.context, id, ({ state }) => state === 'paused');
    hold.looks = 0;
    await eventually(async () => {
      const run = await loadRun(api.context.db, id, 1);
      expect(run?.nodes.get('ntp01')).toEqual({ status: 'prepared' });
    });
    expect(world.begun.at(-1)).toBe('prepare ntp01');
    expect((await report(id)).groups[1]?.stage).toBe('prepared');
    await expect(control(id, 'pause')).rejects.toThrow(/is paused already/);
    await control(id, 'unpause');
    lives[0]?.nudge();
    expect((await ended(id)).state).toBe('complete');
    await expect(control(id, 'unpause')).rejects.toThrow(/has ended \(complete\)/);
  });

  test('stops: what is at work is broken off, what was not begun stays so, and the report says what is where', async () => {
    const { id, world } = await begin({
      fate: (node, phase) => (node === 'ntp01' && phase === 'deploy' ? { looks: Infinity } : {}),
    });
    await eventually(async () => {
      expect(world.begun).toContain('deploy ntp01');
    });
    await control(id, 'stop');
    await expect(control(id, 'pause')).rejects.toThrow(/is stopping already/);
    const action = await ended(id);
    expect(action).toMatchObject({ state: 'stopped', error: 'the action was stopped' });
    const { groups, nodes } = await report(id);
    expect(groups.map(({ stage }) => stage)).toEqual([
      'success',
      'failure',
      'not_started',
      'not_started',
      'not_started',
    ]);
    expect(nodes.failure).toEqual(['ntp01']);
    expect(await steps(id)).toEqual([
      ['preflight', 'done'],
      ['validate_site_design', 'done'],
      ['verify_site', 'done'],
      ['baremetal_nodes', 'failed'],
      ['final_report', 'done'],
      ['tag_revision', 'done'],
    ]);
    expect((await tags()).map(({ tag }) => tag)).toEqual(['site-action-failure']);
  });

  test('pauses, and another conductor takes over: nodes at work are looked after, and no time has run out', async () => {
    const hold = { looks: Infinity };
    const { id, world, life } = await begin({
      site: () => makeSite(seedNodes, seedStrategy, { prepare: 60, deploy: 60 }),
      fate: (node, phase) => (node === 'ntp01' && phase === 'prepare' ? hold : {}),
    });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await control(id, 'pause');
    await actionBecomes(api.context, id, ({ state }) => state === 'paused');
    await control(id, 'unpause');
    await control(id, 'pause');
    await life.kill();
    await longAgo(api.context, id, 600);
    await expireLease(api.context, id);
    lives.push(startLife(api.context, world.hands, { name: 'b' }));
    await actionBecomes(api.context, id, ({ holder }) => holder === 'b');
    hold.looks = 0;
    await eventually(async () => {
      expect((await loadRun(api.context.db, id, 1))?.nodes.get('ntp01')).toEqual({ status: 'prepared' });
    });
    await control(id, 'unpause');
    expect(await ended(id)).toMatchObject({ state: 'complete', pausedAt: null });
    expect((await report(id)).conclusion).toBe('success');
  });

  test('has no conductor for a while: that counts for no group’s time', async () => {
    const hold = { looks: Infinity };
    let looks = 0;
    const { id, world, life } = await begin({
      site: () => makeSite(seedNodes, seedStrategy, { prepare: 60, deploy: 60 }),
      fate: (node, phase) => {
        if (node !== 'ntp01' || phase !== 'prepare') return {};
        looks += 1;
        return hold;
      },
    });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.stop();
    await longAgo(api.context, id, 600);
    looks = 0;
    lives.push(startLife(api.context, world.hands, { name: 'b' }));
    await eventually(async () => {
      expect(looks).toBeGreaterThan(2);
    });
    hold.looks = 0;
    expect((await ended(id)).state).toBe('complete');
    expect((await report(id)).conclusion).toBe('success');
  });

  test('stops what does not get on: it ends, whatever its nodes throw', async () => {
    const { id, world, life } = await begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.stop();
    const readRevision = () => Promise.reject(new AppError('invalid_argument', 'the documents are too old'));
    lives.push(startLife(api.context, { ...world.hands, readRevision }, { name: 'b' }));
    await eventually(async () => {
      expect(await notes(id, 1)).toContain('conductor b does not get on, and tries again: the documents are too old');
    });
    await control(id, 'stop');
    lives[1]?.nudge();
    expect((await ended(id)).state).toBe('stopped');
    expect((await report(id)).nodes.failure).toEqual(['ntp01']);
    expect(await steps(id)).toContainEqual(['baremetal_nodes', 'failed']);
    expect(await notes(id, 1)).toContain('not broken off, look at them yourself: 1 node: ntp01');
  });

  test('stops what throws again and again', async () => {
    const { id, life, world } = await begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.stop();
    await control(id, 'stop');
    const advanceNodes = () => Promise.reject(new TypeError('a bug'));
    lives.push(startLife(api.context, { ...world.hands, advanceNodes }, { name: 'b' }));
    expect((await ended(id)).state).toBe('stopped');
    expect((await report(id)).groups.map(({ stage }) => stage)).toContain('failure');
  });

  test('is told of an unknown action before an unknown verb', async () => {
    await expect(control('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'dance')).rejects.toMatchObject({ code: 'not_found' });
    const { id } = await begin();
    await expect(control(id, 'dance')).rejects.toThrow(/must be one of pause, unpause, stop/);
  });
});

test('webhooks that see everything are told of its beginning and its end', async () => {
  await api.call('POST', '/v1/webhooks', { name: 'all', url: 'http://127.0.0.1:9/', events: ['site.action'] });
  await api.call('POST', '/v1/webhooks', { name: 'ours', url: 'http://127.0.0.1:9/', project: 'ours' });
  const { id, revision } = await begin();
  await ended(id);
  const told = await api.context.db.select({ body: webhookDeliveries.body }).from(webhookDeliveries);
  expect(told.map(({ body }) => body['data'])).toEqual(
    ['pending', 'complete'].map((state) => ({
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
  const { id, world } = await begin({ site: () => site, fate: () => ({ looks: Infinity }) });
  expect((await ended(id)).state).toBe('failed');
  const { groups, nodes } = await report(id);
  expect(groups[0]?.stage).toBe('failure');
  expect(nodes.failure).toEqual(['ntp01']);
  expect(world.begun).toEqual(['prepare ntp01']);
});

describe('before anything is touched', () => {
  test('documents that have gone bad since: failed, and not tagged', async () => {
    const state = { good: true };
    const world = createWorld(api.context.db, { site: () => (state.good ? seedSite : undefined) });
    await commitRevision(api.context);
    const id = await makeAction(api.context, world.hands, { name: 'deploy_site' });
    state.good = false;
    lives.push(startLife(api.context, world.hands, { name: 'a' }));
    const action = await ended(id);
    expect(action.state).toBe('failed');
    expect(action.error).toContain('the documents are broken');
    expect(await steps(id)).toEqual([
      ['preflight', 'done'],
      ['validate_site_design', 'failed'],
      ['verify_site', 'skipped'],
      ['baremetal_nodes', 'skipped'],
      ['final_report', 'skipped'],
      ['tag_revision', 'skipped'],
    ]);
    expect(await tags()).toEqual([]);
  });

  test('update_site needs something that is deployed, unless told otherwise', async () => {
    const { id } = await begin({ name: 'update_site' });
    const action = await ended(id);
    expect(action).toMatchObject({ state: 'failed', validated: false });
    expect(action.error).toContain('use deploy_site');
    expect(await tags()).toEqual([]);
    const parameters = { 'continue-on-fail': 'true', 'allow-intermediate-commits': true };
    const again = await begin({ name: 'update_site', parameters });
    expect((await ended(again.id)).state).toBe('complete');
  });
});

describe('actions without groups', () => {
  test('are paused between two batches of nodes, and stopped there; what was found is told by then', async () => {
    const calls: string[][] = [];
    const many = Array.from({ length: 40 }, (_, index) => ({ name: `n${index}`, tags: [], labels: {} }));
    const site = makeSite(many, { groups: [] });
    const world = createWorld(api.context.db, { site: () => site });
    const id = await commitRevision(api.context).then(() =>
      makeAction(api.context, world.hands, { name: 'verify_site' }),
    );
    const verifyNodes: typeof world.hands.verifyNodes = async (context, work) => {
      calls.push([...work.names]);
      if (calls.length === 1) await control(id, 'pause');
      return world.hands.verifyNodes(context, work);
    };
    lives.push(startLife(api.context, { ...world.hands, verifyNodes }, { name: 'a' }));
    await actionBecomes(api.context, id, ({ state }) => state === 'paused');
    expect(await notes(id, 4)).toContain('n0: well');
    expect(calls).toHaveLength(1);
    await control(id, 'stop');
    lives[0]?.nudge();
    expect((await ended(id)).state).toBe('stopped');
    expect(calls).toHaveLength(1);
  });

  test('verify_site touches nothing, tags nothing, and fails with a node', async () => {
    const { id, world } = await begin({
      name: 'verify_site',
      verify: (node) =>
        node === 'ntp01'
          ? { state: 'failed', error: 'its BMC does not answer', findings: ['BMC 10.0.0.1'] }
          : { state: 'done', findings: [] },
    });
    const action = await ended(id);
    expect(action).toMatchObject({ state: 'failed', error: 'verify_site: 1 node of 14 failed: ntp01' });
    expect(world.begun).toEqual([]);
    expect(await tags()).toEqual([]);
    expect(await notes(id, 2)).toContain('ntp01: BMC 10.0.0.1');
  });

  test('verify_site fails with nodes that are not as documented, and says of each what differs', async () => {
    const { id } = await begin({
      name: 'verify_site',
      verify: (node) => ({
        state: 'done',
        findings: [],
        ...(node === 'ntp01' ? { differs: ['properties/rack', 'powered off'] } : {}),
        ...(node === 'control01' ? { differs: ['not enrolled'] } : {}),
      }),
    });
    const error = 'verify_site: 2 of 14 nodes are not as documented';
    expect(await ended(id)).toMatchObject({ state: 'failed', error });
    const told = (await notes(id, 1)).find((text) => text.startsWith('14 nodes: '));
    expect(told).toContain('14 nodes: 12 as documented, 2 differ: ');
    expect(told).toContain('ntp01 (properties/rack, powered off)');
    expect(told).toContain('control01 (not enrolled)');
    const rows = await viewActionNodes(api.context, id, { status: 'failure' });
    expect(rows.map(({ name, reason }) => [name, reason])).toEqual([
      ['control01', 'not as documented: not enrolled'],
      ['ntp01', 'not as documented: properties/rack, powered off'],
    ]);
  });

  test('relabel_nodes does what it is given', async () => {
    const { id } = await begin({ name: 'relabel_nodes', parameters: { target_nodes: 'ntp01,control01' } });
    expect((await ended(id)).state).toBe('complete');
    expect(await notes(id, 1)).toContain('2 nodes: all well');
  });
});
