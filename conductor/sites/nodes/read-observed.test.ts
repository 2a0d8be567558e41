import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addAction } from '#conductor/flows/site-actions/testing/add-action.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteActionCommands } from '#conductor/kernel/db/schema/site-action.ts';
import { readPerhapsBack, readSucceeded } from '#conductor/sites/nodes/read-observed.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const before = (minutes: number) => sql`now() - make_interval(mins => ${minutes})`;

async function newAction(unpaused?: number): Promise<string> {
  const id = crypto.randomUUID();
  const { db } = database;
  await addAction(db, { id, name: 'redeploy_server', flow: { endedAt: new Date() } });
  if (unpaused !== undefined) {
    const commands = ['pause', 'unpause'] as const;
    await db
      .insert(siteActionCommands)
      .values(commands.map((command) => ({ actionId: id, command, at: before(unpaused) })));
  }
  return id;
}

/** A decommission; minutes ago. */
interface Left {
  readonly drained: number;
  readonly ended: number;
}

/** A node that was decommissioned so many minutes ago each time; a number = its drain came last. */
async function decommissioned(actionId: string | null, ...times: readonly (number | Left)[]): Promise<string> {
  const { db } = database;
  const uuid = crypto.randomUUID();
  await db.insert(nodes).values({ uuid, driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'active' });
  for (const time of times) {
    const { drained, ended } = typeof time === 'number' ? { drained: time, ended: time } : time;
    const flow = crypto.randomUUID();
    const drain = crypto.randomUUID();
    const etcd = crypto.randomUUID();
    await db.insert(flows).values({
      uuid: flow,
      nodeUuid: uuid,
      kind: 'decommission',
      state: 'succeeded',
      actionId,
      startedAt: before(drained + 60),
      // as a conductor says whose clock is a year behind
      endedAt: before(525_600),
    });
    const core = { flowUuid: flow, phase: 'main', interface: 'cluster', origin: 'core', inBand: false } as const;
    await db.insert(flowSteps).values([
      { ...core, uuid: drain, position: 1, step: 'drain', priority: 50 },
      { ...core, uuid: etcd, position: 2, step: 'wait_for_etcd', priority: 20 },
    ]);
    const event = { flowUuid: flow, conductor: 'c1' };
    await db.insert(flowEvents).values([
      { ...event, stepUuid: drain, event: 'started', at: before(drained + 59) },
      { ...event, stepUuid: drain, event: 'succeeded', at: before(drained) },
      { ...event, stepUuid: etcd, event: 'started', at: before(drained) },
      { ...event, stepUuid: etcd, event: 'succeeded', at: before(ended) },
    ]);
  }
  return uuid;
}

const isBack = async (actionId: string, uuid: string) =>
  (await readPerhapsBack(database.db, actionId, [uuid])).has(uuid);

test('a decommission counts for its action alone', async () => {
  const [first, second] = [await newAction(), await newAction()];
  for (const uuid of [await decommissioned(first, 0), await decommissioned(null, 0)]) {
    expect((await readSucceeded(database.db, second, [uuid])).get(uuid)).toBeUndefined();
  }
  const uuid = await decommissioned(second, 0);
  expect((await readSucceeded(database.db, second, [uuid])).get(uuid)).toEqual(new Set(['decommission']));
});

test('and for so long as nobody had the time to put the node back, by whatever clock its conductor went', async () => {
  const action = await newAction();
  expect(await isBack(action, await decommissioned(action, 0))).toBe(false);
  expect(await isBack(action, await decommissioned(action, 9))).toBe(false);
  expect(await isBack(action, await decommissioned(action, 11))).toBe(true);
  expect(await isBack(action, await decommissioned(action, 11, 1))).toBe(false);
  expect(await isBack(action, await decommissioned(null, 11))).toBe(false);
});

test('and not across a pause', async () => {
  const action = await newAction(3);
  expect(await isBack(action, await decommissioned(action, 5))).toBe(true);
  expect(await isBack(action, await decommissioned(action, 5, 1))).toBe(false);
  expect(await isBack(action, await decommissioned(action, 1))).toBe(false);
});

test('and not across one that ends between the drain and the end of the flow, which goes on through it', async () => {
  const action = await newAction(3);
  expect(await isBack(action, await decommissioned(action, { drained: 5, ended: 1 }))).toBe(true);
  expect(await isBack(action, await decommissioned(action, { drained: 5, ended: 1 }, 1))).toBe(false);
  expect(await isBack(action, await decommissioned(action, { drained: 2, ended: 1 }))).toBe(false);
});

test('a slow etcd has no node decommissioned for ever', async () => {
  const action = await newAction();
  expect(await isBack(action, await decommissioned(action, { drained: 40, ended: 1 }))).toBe(false);
});

test('a flow that had nothing to do has ended as it began', async () => {
  const { db } = database;
  const action = await newAction();
  const uuid = await decommissioned(action);
  const flow = {
    nodeUuid: uuid,
    kind: 'decommission',
    state: 'succeeded',
    actionId: action,
    endedAt: before(0),
  } as const;
  await db.insert(flows).values({ ...flow, uuid: crypto.randomUUID() });
  expect(await isBack(action, uuid)).toBe(false);
});
