import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimAction } from '#conductor/flows/site-actions/action-lease.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { actionSorts } from '#conductor/model/site/action-table.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import {
  actionBecomes,
  commitRevision,
  expireLease,
  forgetActions,
  hasEnded,
  makeAction,
  startLife,
} from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld, makeSite } from '#conductor/sites/actions/testing/site-world.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { systemClock } from '#shared/clock.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Several sessions alone can show of site actions who makes one, who runs it, and whose word counts. */

let server: PostgresServer;
let databases: Database[];
let api: TestApi;
beforeAll(async () => {
  server = await startPostgresql();
  const open = () => openDatabase({ url: server.url, dataDirectory: '' });
  databases = [await open(), await open(), await open()];
  const settings = { BATON_SITE_BEAT_INTERVAL: '0.02', BATON_RECONCILE_INTERVAL: '0.05', BATON_LEASE_SECONDS: '60' };
  api = await openTestApi({ settings });
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await api.close();
  await server.close();
});
beforeEach(() => forgetActions(contextOf(0)));

/** A conductor's, with sessions of its own. */
function contextOf(index: number): ConductorContext {
  const database = databases[index % databases.length];
  if (!database) throw new Error('no database');
  return { ...api.context, clock: systemClock, database, db: database.db };
}

const site = makeSite(seedNodes, { ...seedStrategy, max_parallel_groups: 3 });
const worldOf = (context: ConductorContext, looks: { looks: number }) =>
  createWorld(context.db, { site: () => site, fate: () => looks });

test('of many that are made at once, one is', async () => {
  const { operations } = worldOf(contextOf(0), { looks: 1 });
  await commitRevision(contextOf(0));
  const tries = Array.from({ length: 12 }, (_, index) =>
    makeAction(contextOf(index), operations, { name: 'deploy_site' }),
  );
  const settled = await Promise.allSettled(tries);
  const refused = settled.filter((each) => each.status === 'rejected');
  expect(refused).toHaveLength(11);
  expect(new Set(refused.map(({ reason }) => errorCode(reason)))).toEqual(new Set(['conflict']));
  for (const { reason } of refused) expect(String(reason)).toMatch(/deploy_site [0-9A-Z]{26} is under way/);
});

test('of many that claim it at once, one gets it; and again when that one has died', async () => {
  const { operations } = worldOf(contextOf(0), { looks: 1 });
  await commitRevision(contextOf(0));
  const id = await makeAction(contextOf(0), operations, { name: 'deploy_site' });
  for (const token of [1, 2, 3]) {
    const claims = Array.from({ length: 12 }, (_, index) =>
      claimAction(contextOf(index).db, { holder: `conductor-${index}`, leaseMs: 60_000 }, actionSorts[0]),
    );
    const got = (await Promise.all(claims)).filter((claim) => claim !== undefined);
    expect(got.map(({ lease }) => lease.token)).toEqual([token]);
    await expireLease(contextOf(0), id);
  }
});

test('conductors that die while they run it are followed by others when their lease is over', async () => {
  const world = worldOf(contextOf(0), { looks: 3 });
  await commitRevision(contextOf(0));
  const id = await makeAction(contextOf(0), world.operations, { name: 'deploy_site' });
  // each of the first ones dies somewhere else, in the middle of its work
  const places = [4, 9, 14];
  const lives = places.map((place, index) =>
    startLife(contextOf(index), world.operations, {
      name: `mortal-${index}`,
      dies: (checkpoint) => checkpoint === place,
    }),
  );
  const dead = () => lives.filter((life) => life.isDead()).length;
  for (const count of [1, 2, 3]) {
    await expect.poll(dead, { interval: 20 }).toBe(count);
    await expireLease(contextOf(0), id);
  }
  await Promise.all(lives.map((life) => life.kill()));
  const last = startLife(contextOf(0), world.operations, { name: 'last' });
  const action = await actionBecomes(contextOf(0), id, hasEnded);
  await last.stop();
  expect(action).toMatchObject({ state: 'succeeded', token: 4 });
  expect(world.violations).toEqual([]);
  expect(world.begun).toHaveLength(2 * seedNodes.length);
  expect(new Set(world.begun).size).toBe(world.begun.length);
  const run = await loadRun(contextOf(0).db, id, 3);
  expect(run && reportSite(run).conclusion).toBe('success');
});
