import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import { workOfGates, workOfRollout } from '#conductor/kernel/conductors/conductor-store.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import type { RolloutRules } from '#conductor/model/site/rollout.ts';
import { actionBecomes, expireLease, isHeld } from '#conductor/sites/actions/testing/action-lab.ts';
import { makeSite } from '#conductor/sites/actions/testing/site-world.ts';
import { viewGroups } from '#conductor/sites/actions/view-groups.ts';
import { type ActionStage, openActionStage } from '#test/support/action-stage.ts';
import { eventually } from '#test/support/eventually.ts';

let actions: ActionStage;
beforeAll(async () => {
  actions = await openActionStage();
});
afterEach(() => actions.clear());
afterAll(() => actions.close());

const nodes = ['n1', 'n2', 'n3', 'n4'].map((name) => ({ name, tags: [], labels: {} }));
const siteWith = (rules: RolloutRules) => {
  const group = { name: 'workers', critical: true, depends_on: [], selectors: [], ...rules };
  const site = makeSite(nodes, { groups: [group] });
  return () => site;
};
const waits = async (id: string) => {
  const action = await actionBecomes(actions.api.context, id, () => true);
  return (await viewGroups(actions.api.context.db, action, { members: false })).groups[0]?.waiting_for;
};
const preparesOf = (begun: readonly string[]) => begun.filter((step) => step.startsWith('prepare '));

test('a failed canary pauses the action; people, programs and webhooks read why; unpause goes on with the next', async () => {
  await actions.api.call('POST', '/v1/webhooks', { name: 'all', url: 'http://127.0.0.1:9/', events: ['site.action'] });
  const { id, world, life } = await actions.begin({
    site: siteWith({ canary: { nodes: 1, stay_seconds: 0 } }),
    fate: (node, phase) => (node === 'n1' && phase === 'deploy' ? { error: 'no loader' } : {}),
  });
  const held = 'paused by itself: group workers: canary n1 failed';
  expect(await actionBecomes(actions.api.context, id, isHeld)).toMatchObject({ held, endedAt: null });
  expect(preparesOf(world.begun)).toEqual(['prepare n1']);
  expect(await waits(id)).toEqual([`the end of the pause (${held})`]);
  expect(await actions.notes(id, 1)).toContain(
    'workers: paused by itself: canary n1 failed; unpause goes on, skip goes on without canaries, stop ends the action',
  );
  const reported = await actions.api.context.db.select({ body: webhookDeliveries.body }).from(webhookDeliveries);
  expect(reported.map(({ body }) => body['data'])).toContainEqual(
    expect.objectContaining({ state: 'running', error: held }),
  );
  await actions.control(id, 'unpause');
  life.nudge();
  await actions.ended(id);
  expect(preparesOf(world.begun)).toEqual(['prepare n1', 'prepare n2', 'prepare n3', 'prepare n4']);
  expect((await actions.report(id)).nodes).toMatchObject({ failure: ['n1'], success: ['n2', 'n3', 'n4'] });
});

test('a canary that falls out of service while it is watched pauses the action, and stop ends it', async () => {
  const state: { out?: string } = {};
  const { id, world } = await actions.begin({
    site: siteWith({ canary: { nodes: 1, stay_seconds: 3600 } }),
    outOfService: (node) => (node === 'n1' ? state.out : undefined),
  });
  await eventually(async () => {
    expect((await waits(id))?.[0]).toMatch(/^canary n1, in service since .*, to stay so for 3600 s$/);
  });
  state.out = 'it is power off';
  const { held } = await actionBecomes(actions.api.context, id, isHeld);
  expect(held).toBe('paused by itself: group workers: canary n1 is no longer in service: it is power off');
  await actions.control(id, 'stop');
  expect((await actions.ended(id)).state).toBe('aborted');
  expect(preparesOf(world.begun)).toEqual(['prepare n1']);
});

test('the conductor dies while canaries are watched: the next one goes on where it was, and begins no other node', async () => {
  const { id, world, life } = await actions.begin({ site: siteWith({ canary: { nodes: 2, stay_seconds: 3600 } }) });
  const sinceOf = async () => (await loadRun(actions.api.context.db, id, 1))?.groups[0]?.rollout?.watched?.since;
  await eventually(async () => {
    expect(await sinceOf()).toBeDefined();
  });
  const since = await sinceOf();
  await life.kill();
  await expireLease(actions.api.context, id);
  const next = actions.startLife(world.operations, 'b');
  await actionBecomes(actions.api.context, id, ({ holder }) => holder === 'b');
  await actions.control(id, 'pause');
  next.nudge();
  await actionBecomes(actions.api.context, id, isHeld);
  // the time without a conductor does not count as in service
  expect(await sinceOf()).toBeGreaterThan(since ?? Infinity);
  expect(preparesOf(world.begun)).toEqual(['prepare n1', 'prepare n2']);
});

test('a health gate that turns bad pauses the action, with its answer; unpause goes on once it is good again', async () => {
  const state = { status: 200, hasTurned: false };
  const server = createServer((_request, response) => void response.writeHead(state.status).end());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const http = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`;
  const { id, world, life } = await actions.begin({
    site: siteWith({ batch: [1], health: [{ name: 'api', http, hold_seconds: 0, patience_seconds: 0 }] }),
    fate: (node, phase) => {
      // once: this is asked at each look at the node, also after the gate has been made good again
      if (node === 'n2' && phase === 'deploy' && !state.hasTurned) {
        state.status = 503;
        state.hasTurned = true;
      }
      // the gate is asked again while it is at work
      return { looks: node === 'n2' && phase === 'deploy' ? 1_000_000 : 1 };
    },
  });
  const { held } = await actionBecomes(actions.api.context, id, isHeld);
  expect(held).toMatch(/^paused by itself: group workers: health gate api is not good since .*: HTTP 503$/);
  expect(preparesOf(world.begun)).toEqual(['prepare n1', 'prepare n2']);
  const [row] = await actions.api.context.db.select().from(siteActions).where(eq(siteActions.id, id));
  expect(row?.needs).toBe(workOfGates);
  state.status = 200;
  await actions.control(id, 'unpause');
  life.nudge();
  await actionBecomes(actions.api.context, id, ({ heldSince }) => heldSince === null);
  await actions.control(id, 'stop');
  expect((await actions.ended(id)).state).toBe('aborted');
});

test('skip goes past what is in the way, and past nothing else', async () => {
  const { id, world, life } = await actions.begin({
    site: siteWith({
      canary: { nodes: 1, stay_seconds: 3600 },
      batch: [1],
    }),
    fate: (node, phase) => ({ looks: node === 'n2' && phase === 'deploy' ? 1_000_000 : 1 }),
  });
  await eventually(async () => {
    expect((await waits(id))?.[0]).toMatch(/^canary n1, in service since/);
  });
  const group = async () => {
    const action = await actionBecomes(actions.api.context, id, () => true);
    return (await viewGroups(actions.api.context.db, action, { members: false })).groups[0];
  };
  expect((await group())?.may_skip).toBe(true);
  await actions.control(id, 'skip');
  life.nudge();
  await eventually(async () => {
    expect(await waits(id)).toEqual(['a batch of 1, of which 1 have not ended']);
    // a beat after it is recorded
    expect(preparesOf(world.begun)).toEqual(['prepare n1', 'prepare n2']);
  });
  expect(await actions.notes(id, 1)).toContainEqual(
    expect.stringMatching(/^workers: skipped: canary n1, in service since .*, to stay so for 3600 s$/),
  );
  expect((await group())?.may_skip).toBe(false);
  await expect(actions.control(id, 'skip')).rejects.toThrow(
    'no group waits for its window, its canaries or a health gate: workers waits for a batch of 1, of which 1 have not ended',
  );
  await actions.control(id, 'pause');
  await expect(actions.control(id, 'skip')).rejects.toThrow('it is paused (paused); unpause it first');
  await actions.control(id, 'stop');
  await actions.ended(id);
});

test('several failures of one cause pause it; a release that does not know rollouts can not run it', async () => {
  const { id } = await actions.begin({
    site: siteWith({ batch: [2], pause_on: { same_cause: 2 } }),
    fate: (node) => (node === 'n3' || node === 'n4' ? {} : { error: 'the switch refuses' }),
  });
  const { held } = await actionBecomes(actions.api.context, id, isHeld);
  expect(held).toBe(
    'paused by itself: group workers: 2 of its nodes failed for the same cause, the switch refuses: n1, n2',
  );
  const [row] = await actions.api.context.db.select().from(siteActions).where(eq(siteActions.id, id));
  expect(row?.needs).toBe(workOfRollout);
});
