import { eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { claimAction } from '#conductor/flows/site-actions/action-lease.ts';
import { insertConductor, workKnown } from '#conductor/kernel/conductors/conductor-store.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { actionSorts } from '#conductor/model/site/action-table.ts';
import { actionBecomes, commitRevision, isHeld, makeAction } from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld } from '#conductor/sites/actions/testing/site-world.ts';
import type { NodeOrder } from '#conductor/sites/nodes/node-order.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { type ActionStage, openActionStage, seedSite } from '#test/support/action-stage.ts';
import { eventually } from '#test/support/eventually.ts';

/** An action that tears nodes down needs a conductor that knows how. */

let actions: ActionStage;
beforeAll(async () => {
  actions = await openActionStage();
  const uuid = crypto.randomUUID();
  await actions.api.context.db
    .insert(nodes)
    .values({ uuid, name: 'ntp01', driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'available' });
});
afterEach(() => actions.clear());
afterAll(() => actions.close());

const request = { name: 'teardown_server', parameters: { target_nodes: ['ntp01'] } };

/** A teardown whose node works on for ever, and what was ordered of it last. */
async function makeTeardown(context: ConductorContext) {
  const orders: NodeOrder[] = [];
  const world = createWorld(context.db, { site: () => seedSite, fate: () => ({ looks: Infinity }) });
  const operations: typeof world.operations = {
    ...world.operations,
    advanceNodes: (given, work) => {
      orders.push(...work.orders);
      return world.operations.advanceNodes(given, work);
    },
  };
  await commitRevision(context);
  return { orders, operations, id: await makeAction(context, operations, request) };
}

const withKubeconfig = (context: ConductorContext): ConductorContext => ({
  ...context,
  config: { ...context.config, kubeconfigFile: '/nowhere/kubeconfig' },
});

test('a release that does not look at what an action needs can’t claim it, and a claim of a newer one is left', async () => {
  const { context } = actions.api;
  const { id } = await makeTeardown(context);
  // the statement of the releases before
  const claim = context.db.execute(sql`update site_actions set holder = 'old', token = token + 1,
    expires_at = now() + interval '1 minute' where ended_at is null and holder is null`);
  await expect(claim).rejects.toMatchObject({
    cause: { message: expect.stringContaining('claimed_by_who_knows') },
  });
  await context.db
    .update(siteActions)
    .set({ needs: workKnown + 1 })
    .where(eq(siteActions.id, id));
  expect(await claimAction(context.db, { holder: 'a', leaseMs: 1000 }, actionSorts[0])).toBeUndefined();
  await context.db.update(siteActions).set({ needs: workKnown }).where(eq(siteActions.id, id));
  expect(await claimAction(context.db, { holder: 'a', leaseMs: 1000 }, actionSorts[0])).toMatchObject({
    action: { id },
  });
});

test('while a conductor of an older release is alive nothing is torn down', async () => {
  const { context } = actions.api;
  const { operations } = createWorld(context.db, { site: () => seedSite });
  await commitRevision(context);
  await insertConductor(context.db, { hostname: 'old', conductorGroup: '', drivers: [], publicUrl: '' });
  await context.db.update(conductors).set({ generation: 7 }).where(eq(conductors.hostname, 'old'));
  await expect(makeAction(context, operations, request)).rejects.toThrow(
    /conductors of an older release are alive.*: old/,
  );
  await context.db.delete(conductors).where(eq(conductors.hostname, 'old'));
});

test('a conductor without the clusters that it began with waits; a pause reaches the nodes, and a stop after it', async () => {
  const { context } = actions.api;
  const { id, operations, orders } = await makeTeardown(withKubeconfig(context));
  const life = actions.startLife(operations, 'poor');
  await eventually(() => {
    expect(orders.at(-1)?.teardown).toMatchObject({
      kubernetes: true,
      lacks: expect.stringMatching(/conductor poor.*has no BATON_KUBECONFIG/),
    });
    return Promise.resolve();
  });
  expect(orders.at(-1)).not.toHaveProperty('paused');
  await actions.control(id, 'pause');
  life.nudge();
  await actionBecomes(context, id, isHeld);
  life.nudge();
  await eventually(() => {
    expect(orders.at(-1)).toMatchObject({ paused: true });
    return Promise.resolve();
  });
  const sofar = orders.length;
  await actions.control(id, 'stop');
  life.nudge();
  expect((await actions.ended(id)).state).toBe('aborted');
  // not even in the beat that hears of the stop first
  for (const order of orders.slice(sofar)) expect([order.paused, order.cancel]).not.toEqual([undefined, undefined]);
  expect(orders.at(-1)).toMatchObject({ cancel: 'the action was stopped' });
});
