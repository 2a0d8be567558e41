import { like } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimAction, releaseAction } from '#conductor/flows/site-actions/action-lease.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import { siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import { actionSorts } from '#conductor/model/site/action-table.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import { addNotes, listNotes } from '#conductor/sites/actions/action-notes.ts';
import { writeUnderLease } from '#conductor/sites/actions/action-work.ts';
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
import { listTags } from '#conductor/sites/revisions/revision-store.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_SITE_BEAT_INTERVAL: '0.01', BATON_RECONCILE_INTERVAL: '0.02' } });
});
beforeEach(() => forgetActions(api.context));
afterAll(() => api.close());

const group = (name: string, depends: readonly string[], nodes: readonly string[]) => ({
  name,
  critical: false,
  depends_on: depends,
  selectors: [{ node_names: nodes }],
  success_criteria: { percent_successful_nodes: 50 },
});
const small = makeSite(
  ['n1', 'n2', 'n3'].map((name) => ({ name, tags: [], labels: {} })),
  { groups: [group('first', [], ['n1', 'n2']), group('second', ['first'], ['n2', 'n3'])] },
);
const seed = makeSite(seedNodes, seedStrategy);

const takeover = /^conductor \S+ (goes on with it|has taken it over)/;

/** Reads what an action has left behind, without times and ids. */
async function remains(id: string) {
  const { db } = api.context;
  const run = await loadRun(db, id, 1);
  const notes = await listNotes(db, [id], { verbosity: 5 });
  return {
    state: (await actionBecomes(api.context, id, hasEnded)).state,
    report: run && reportSite(run),
    // which node of a group was ready first is nobody's promise
    notes: notes
      .filter(({ text }) => !takeover.test(text))
      .map(({ step, subject, text }) => `${step ?? ''} ${subject ?? ''}: ${text}`)
      .toSorted(),
    takeovers: notes.flatMap(({ text }) => (takeover.test(text) ? [text] : [])),
    tags: (await listTags(db)).map(({ tag }) => tag),
  };
}

/** Runs an action to its end; each conductor dies where it is told, and another one comes. */
async function runWithDeaths(
  site: typeof small,
  dies: (life: number, checkpoint: number) => boolean,
  request: Parameters<typeof makeAction>[2] = { name: 'deploy_site' },
) {
  const { context } = api;
  const fate = (node: string, phase: string) => ({
    looks: node === 'n1' ? 2 : 1,
    ...(node === 'n2' && phase === 'deploy' ? { error: 'broken' } : {}),
  });
  const world = createWorld(context.db, { site: () => site, fate });
  await context.db.delete(siteRevisionTags).where(like(siteRevisionTags.tag, 'site-action-%'));
  const id = await makeAction(context, world.operations, request);
  let lives = 0;
  let passed = 0;
  for (;;) {
    lives += 1;
    const number = lives;
    const life = startLife(context, world.operations, {
      name: `conductor-${number}`,
      dies: (checkpoint) => {
        passed = checkpoint;
        return dies(number, checkpoint);
      },
    });
    const action = await actionBecomes(context, id, (row) => hasEnded(row) || life.isDead());
    await life.kill();
    if (hasEnded(action)) break;
    await expireLease(context, id);
  }
  expect(world.violations).toEqual([]);
  expect(world.begun.toSorted()).toEqual([...new Set(world.begun)].toSorted());
  return { ...(await remains(id)), begun: world.begun.toSorted(), lives, passed };
}

describe('a conductor that dies', () => {
  test('at any checkpoint: the next one goes on, to the same end, and nothing is begun twice', async () => {
    await commitRevision(api.context);
    const whole = await runWithDeaths(small, () => false);
    expect(whole.lives).toBe(1);
    expect(whole.state).toBe('succeeded');
    expect(whole.passed).toBeGreaterThan(15);
    for (let place = 1; place <= whole.passed; place += 1) {
      const mended = await runWithDeaths(small, (life, at) => life === 1 && at === place);
      expect({ place, ...pick(mended) }).toEqual({ place, ...pick(whole) });
      const reported = 'conductor conductor-2 has taken it over from conductor-1, whose lease had run out';
      expect(mended.takeovers).toEqual(mended.lives === 1 ? [] : [reported]);
    }
  });

  test('of a redeploy, too: one node after another, and none of a chain that is broken', async () => {
    await commitRevision(api.context);
    const parameters = { target_nodes: ['n1', 'n2', 'n3'], 'target-revision': 'committed' };
    const request = { name: 'redeploy_server', parameters };
    const whole = await runWithDeaths(small, () => false, request);
    expect(whole).toMatchObject({ state: 'failed', lives: 1, tags: ['committed', 'site-action-failure'] });
    expect(whole.begun).toEqual(['deploy n1', 'deploy n2', 'prepare n1', 'prepare n2']);
    expect(whole.report?.nodes).toMatchObject({ success: ['n1'], failure: ['n2'], not_started: ['n3'] });
    for (let place = 2; place <= whole.passed; place += 3) {
      const mended = await runWithDeaths(small, (life, at) => life === 1 && at === place, request);
      expect({ place, ...pick(mended) }).toEqual({ place, ...pick(whole) });
    }
  });

  test('again and again: the seed’s site comes to the same end', async () => {
    await commitRevision(api.context);
    const whole = await runWithDeaths(seed, () => false);
    // the first of a life's is that it has told of itself
    const mended = await runWithDeaths(seed, (life, at) => at === 3 + (life % 2));
    expect(mended.lives).toBeGreaterThan(10);
    expect(pick(mended)).toEqual(pick(whole));
  });
});

function pick({ state, report, notes, tags, begun }: Awaited<ReturnType<typeof runWithDeaths>>) {
  return { state, report, notes, tags, begun };
}

describe('several conductors', () => {
  test('race for one action: one runs it, and when it stops the other goes on at once', async () => {
    const { context } = api;
    const hold = { looks: Infinity };
    const world = createWorld(context.db, { site: () => small, fate: () => hold });
    await commitRevision(context);
    const id = await makeAction(context, world.operations, { name: 'deploy_site' });
    const lives = ['a', 'b'].map((name) => ({ name, life: startLife(context, world.operations, { name }) }));
    const { holder, token } = await actionBecomes(
      context,
      id,
      ({ state, holder: who }) => state === 'running' && who !== null,
    );
    expect(token).toBe(1);
    const first = lives.find(({ name }) => name === holder);
    const second = lives.find(({ name }) => name !== holder);
    await first?.life.stop();
    const taken = await actionBecomes(context, id, (row) => row.token > 1 && row.holder !== null);
    expect(taken).toMatchObject({ holder: second?.name, token: 2 });
    hold.looks = 0;
    expect((await actionBecomes(context, id, hasEnded)).state).toBe('succeeded');
    await second?.life.stop();
    expect((await remains(id)).takeovers).toEqual([`conductor ${second?.name} goes on with it, from what is recorded`]);
    expect(world.violations).toEqual([]);
    expect(new Set(world.begun).size).toBe(world.begun.length);
  });

  test('who was away for too long writes nothing more', async () => {
    const { context } = api;
    const world = createWorld(context.db, { site: () => small });
    await commitRevision(context);
    const id = await makeAction(context, world.operations, { name: 'deploy_site' });
    const claim = (holder: string) => claimAction(context.db, { holder, leaseMs: 60_000 }, actionSorts[0]);
    const old = await claim('old');
    if (!old) throw new Error('not claimed');
    expect(await claim('young')).toBeUndefined();
    await expireLease(context, id);
    const young = await claim('young');
    expect(young).toMatchObject({ takenFrom: 'old', lease: { token: 2 } });
    const write = writeUnderLease({ context, lease: old.lease, signal: new AbortController().signal }, (tx) =>
      addNotes(tx, id, [{ verbosity: 1, text: 'from beyond' }]),
    );
    await expect(write).rejects.toMatchObject({ code: 'lease_lost' });
    await releaseAction(context.db, old.lease);
    expect(await claim('third')).toBeUndefined();
    expect((await listNotes(context.db, [id], { verbosity: 5 })).map(({ text }) => text)).not.toContain('from beyond');
  });
});

test('what fails in a beat is told once, tried again at growing intervals, and lost nothing', async () => {
  const { context } = api;
  const world = createWorld(context.db, { site: () => small });
  await commitRevision(context);
  const id = await makeAction(context, world.operations, { name: 'deploy_site' });
  let failures = 0;
  const advanceNodes: typeof world.operations.advanceNodes = (...args) => {
    failures += 1;
    if (failures <= 3) throw new TypeError('a bug');
    return world.operations.advanceNodes(...args);
  };
  const life = startLife(context, { ...world.operations, advanceNodes }, { name: 'a' });
  expect((await actionBecomes(context, id, hasEnded)).state).toBe('succeeded');
  await life.stop();
  const reported = (await listNotes(context.db, [id], { verbosity: 1 })).filter(({ text }) => text.includes('a bug'));
  expect(reported.map(({ text }) => text)).toEqual([
    'conductor a failed in a beat of the action, and tries again: a bug',
  ]);
});
