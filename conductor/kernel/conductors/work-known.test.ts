import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  findConductor,
  insertConductor,
  isOlderThan,
  workKnown,
} from '#conductor/kernel/conductors/conductor-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('a conductor of an older release is known by the life that it leads now', async () => {
  const { db } = api.context;
  const self = { hostname: 'c9', conductorGroup: '', drivers: [], publicUrl: 'http://127.0.0.1' };
  const isOld = async () => {
    const found = await findConductor(db, 'c9', 60_000);
    return found && isOlderThan(workKnown, found);
  };
  await insertConductor(db, self);
  expect(await isOld()).toBe(false);
  // as the release before has written its row at each start
  await db.execute(sql`update conductors set generation = generation + 1 where hostname = 'c9'`);
  expect(await isOld()).toBe(true);
  await insertConductor(db, self);
  expect(await isOld()).toBe(false);
});
