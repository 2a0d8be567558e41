import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { teardownOrder } from '#conductor/sites/nodes/testing/node-cases.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import {
  type FakeSite,
  type NodePhaseRequest,
  newAction,
  newSiteNode,
  startFakeSite,
} from '#test/support/fake-site.ts';

/** Conductors that die after any of their writes. */

let site: FakeSite;
beforeAll(async () => {
  site = await startFakeSite();
});
afterAll(() => site.close());

test('nothing is lost, and nothing done twice', async () => {
  const deaths = await dieAfterEachWrite(async (contextNow) => {
    const node = newSiteNode();
    await walk(node, { action: newAction() }, contextNow);
    const { db } = site.context();
    expect(await site.flowsOf(node.name)).toEqual(['clean succeeded', 'deploy succeeded', 'verify succeeded']);
    expect(await db.select().from(allocations).where(eq(allocations.name, node.name))).toHaveLength(1);
    expect(await db.select().from(siteNodes).where(eq(siteNodes.name, node.name))).toHaveLength(1);
    const ofNode = eq(ports.nodeUuid, await site.uuidOf(node.name));
    expect(await db.select().from(ports).where(ofNode)).toHaveLength(1);
  });
  expect(deaths).toBeGreaterThan(8);
});

test('a node is torn down once; each action does it again', async () => {
  const node = newSiteNode();
  await walk(node, { action: newAction() });
  const teardown = { ...teardownOrder, kubernetes: false, etcd: false };
  const deaths = await dieAfterEachWrite(async (contextNow) => {
    const action = newAction();
    const before = (await site.operator.node(node.name))['instance_uuid'];
    await walk(node, { action, teardown }, contextNow);
    const rows = await site.context().db.select().from(flows).where(eq(flows.actionId, action.id));
    const kinds = rows.toSorted((a, b) => Number(a.startedAt) - Number(b.startedAt)).map(({ kind }) => kind);
    expect(kinds).toEqual(['teardown', 'wipe', 'deploy']);
    expect((await site.operator.node(node.name))['instance_uuid']).not.toBe(before);
  });
  expect(deaths).toBeGreaterThan(4);
});

/** Through both phases. */
async function walk(
  node: SiteNode,
  request: Omit<NodePhaseRequest, 'phase'>,
  contextNow?: () => ConductorContext,
): Promise<void> {
  for (const phase of ['prepare', 'deploy'] as const) {
    const outcomes = await site.run([node], { ...request, phase }, contextNow);
    expect({ phase, outcome: outcomes.get(node.name) }).toMatchObject({ outcome: { state: 'done' } });
  }
}

/**
 * Again and again, each time with a conductor that dies one write later than the last, until one outlives it.
 * @param act `contextNow` is that of the living conductor
 * @returns how many have died
 */
async function dieAfterEachWrite(act: (contextNow: () => ConductorContext) => Promise<void>): Promise<number> {
  for (let writes = 1; writes < 100; writes += 1) {
    const dying = dyingAfter(writes, site.context());
    await act(() => (dying.isDead() ? site.context() : dying.context));
    if (!dying.isDead()) return writes - 1;
  }
  throw new Error('no conductor has lived through it');
}

/** A context whose database goes away for good after so many writes, the last of which is committed. */
function dyingAfter(writes: number, context: ConductorContext) {
  let left = writes;
  const isDead = () => left <= 0;
  const die = () => {
    throw new Error('the conductor died here');
  };
  const db = new Proxy(context.db, {
    get: (target, key) => {
      if (isDead()) die();
      const value: unknown = Reflect.get(target, key);
      if (key !== 'transaction' && key !== 'insert') return typeof value === 'function' ? value.bind(target) : value;
      return (...given: unknown[]) => {
        left -= 1;
        if (key === 'insert' && isDead()) die();
        const result: unknown = Reflect.apply(value as () => unknown, target, given);
        return key === 'insert' ? result : Promise.resolve(result).then((answer) => (isDead() ? die() : answer));
      };
    },
  });
  return { context: { ...context, db }, isDead };
}
