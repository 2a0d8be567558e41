import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/db/open.ts';
import { flowEvents, flowSteps, flows } from '#conductor/db/schema/flow.ts';
import { nodes } from '#conductor/db/schema/node.ts';
import { siteActionCommands, siteActions } from '#conductor/db/schema/site-action.ts';
import { readPerhapsBack, readSucceeded } from '#conductor/sites/nodes/read-standing.ts';
import { openMemoryDatabase } from '#test/support/memory-database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

const before = (minutes: number) => sql`now() - make_interval(mins => ${minutes})`;

async function newAction(unpaused?: number): Promise<string> {
  const id = crypto.randomUUID();
  const { db } = database;
  await db
    .insert(siteActions)
    .values({ id, name: 'redeploy_server', revisionId: 1, contextMarker: id, endedAt: before(0) });
  if (unpaused !== undefined) {
    const commands = ['pause', 'unpause'] as const;
    await db
      .insert(siteActionCommands)
      .values(commands.map((command) => ({ actionId: id, command, at: before(unpaused) })));
  }
  return id;
}

/** A node that was decommissioned, the last event so many minutes ago each time. */
async function decommissioned(actionId: string | null, ...minutes: readonly number[]): Promise<string> {
  const { db } = database;
  const uuid = crypto.randomUUID();
  await db.insert(nodes).values({ uuid, driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'active' });
  for (const ago of minutes) {
    const flow = crypto.randomUUID();
    const step = crypto.randomUUID();
    await db.insert(flows).values({
      uuid: flow,
      nodeUuid: uuid,
      kind: 'decommission',
      state: 'succeeded',
      actionId,
      startedAt: before(ago + 60),
      // as a conductor says whose clock is a year behind
      endedAt: before(525_600),
    });
    const named = { interface: 'cluster', step: 'drain', priority: 10, origin: 'core' as const, inBand: false };
    await db.insert(flowSteps).values({ uuid: step, flowUuid: flow, phase: 'main', position: 1, ...named });
    const event = { flowUuid: flow, stepUuid: step, conductor: 'c1' };
    await db.insert(flowEvents).values([
      { ...event, event: 'started', at: before(ago + 59) },
      { ...event, event: 'succeeded', at: before(ago) },
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
