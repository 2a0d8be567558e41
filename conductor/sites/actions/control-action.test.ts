import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requireAction, whyNotToWipe } from '#conductor/flows/site-actions/action-lease.ts';
import { getAction } from '#conductor/flows/site-actions/action-store.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import { type Ask, holdAllNodes } from '#conductor/kernel/db/hold-all-nodes.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { actionBecomes, expireLease, isHeld, longAgo } from '#conductor/sites/actions/testing/action-lab.ts';
import { makeSite, type WorldOptions } from '#conductor/sites/actions/testing/site-world.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type ActionStage, openActionStage } from '#test/support/action-stage.ts';
import { eventually } from '#test/support/eventually.ts';

/** An operator controls a running action, also when its conductor is away. */

let actions: ActionStage;
beforeAll(async () => {
  actions = await openActionStage();
});
afterEach(() => actions.clear());
afterAll(() => actions.close());

const atWork =
  (name: string): NonNullable<WorldOptions['fate']> =>
  (node) =>
    node === name ? { looks: Infinity } : {};

describe('an operator', () => {
  test('pauses: nodes at work end their phase, nothing is begun, until it is unpaused', async () => {
    const hold = { looks: Infinity };
    const { id, world, life } = await actions.begin({
      fate: (node, phase) => (node === 'ntp01' && phase === 'prepare' ? hold : {}),
    });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await actions.control(id, 'pause');
    await actionBecomes(actions.api.context, id, isHeld);
    hold.looks = 0;
    await eventually(async () => {
      const run = await loadRun(actions.api.context.db, id, 1);
      expect(run?.nodes.get('ntp01')).toEqual({ status: 'prepared' });
    });
    expect(world.begun.at(-1)).toBe('prepare ntp01');
    expect((await actions.report(id)).groups[1]?.stage).toBe('prepared');
    await expect(actions.control(id, 'resume')).rejects.toThrow("There is no control 'resume'; unpause does that");
    await expect(actions.control(id, 'cancel')).rejects.toThrow("There is no control 'cancel'; stop does that");
    await expect(actions.control(id, 'rollback')).rejects.toThrow('rollback of an action is not supported: stop it');
    await expect(actions.control(id, 'pause')).rejects.toThrow(/is paused already/);
    await actions.control(id, 'unpause');
    life.nudge();
    expect((await actions.ended(id)).state).toBe('succeeded');
    await expect(actions.control(id, 'unpause')).rejects.toThrow(/has ended \(succeeded\)/);
  });

  test('stops: what is at work is broken off, what was not started stays so, and the report says what is where', async () => {
    const { id, world } = await actions.begin({
      fate: (node, phase) => (node === 'ntp01' && phase === 'deploy' ? { looks: Infinity } : {}),
    });
    await eventually(async () => {
      expect(world.begun).toContain('deploy ntp01');
    });
    await actions.control(id, 'stop');
    await expect(actions.control(id, 'pause')).rejects.toThrow(/is stopping already/);
    const action = await actions.ended(id);
    expect(action).toMatchObject({ state: 'aborted', error: 'the action was stopped' });
    const { groups, nodes } = await actions.report(id);
    expect(groups.map(({ stage }) => stage)).toEqual([
      'success',
      'failure',
      'not_started',
      'not_started',
      'not_started',
    ]);
    expect(nodes.failure).toEqual(['ntp01']);
    expect(await actions.steps(id)).toEqual([
      ['preflight', 'succeeded'],
      ['validate_site_design', 'succeeded'],
      ['verify_site', 'succeeded'],
      ['baremetal_nodes', 'failed'],
      ['final_report', 'succeeded'],
      ['tag_revision', 'succeeded'],
    ]);
    expect((await actions.tags()).map(({ tag }) => tag)).toEqual(['site-action-failure']);
  });

  test('pauses, and another conductor takes over: nodes at work are looked after, and no time has run out', async () => {
    const hold = { looks: Infinity };
    const { id, world, life } = await actions.begin({
      site: () => makeSite(seedNodes, seedStrategy, { prepare: 60, deploy: 60 }),
      fate: (node, phase) => (node === 'ntp01' && phase === 'prepare' ? hold : {}),
    });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await actions.control(id, 'pause');
    await actionBecomes(actions.api.context, id, isHeld);
    await actions.control(id, 'unpause');
    await actions.control(id, 'pause');
    await life.kill();
    await longAgo(actions.api.context, id, 600);
    await expireLease(actions.api.context, id);
    actions.startLife(world.operations, 'b');
    await actionBecomes(actions.api.context, id, ({ holder }) => holder === 'b');
    hold.looks = 0;
    await eventually(async () => {
      expect((await loadRun(actions.api.context.db, id, 1))?.nodes.get('ntp01')).toEqual({ status: 'prepared' });
    });
    await actions.control(id, 'unpause');
    expect(await actions.ended(id)).toMatchObject({ state: 'succeeded', heldSince: null });
    expect((await actions.report(id)).conclusion).toBe('success');
  });

  test('has no conductor for a while: that counts for no group’s time', async () => {
    const hold = { looks: Infinity };
    let looks = 0;
    const { id, world, life } = await actions.begin({
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
    await longAgo(actions.api.context, id, 600);
    looks = 0;
    actions.startLife(world.operations, 'b');
    await eventually(async () => {
      expect(looks).toBeGreaterThan(2);
    });
    hold.looks = 0;
    expect((await actions.ended(id)).state).toBe('succeeded');
    expect((await actions.report(id)).conclusion).toBe('success');
  });

  test('stops what does not get on: it ends, whatever its nodes throw', async () => {
    const { id, world, life } = await actions.begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.stop();
    const readRevision = () => Promise.reject(new AppError('invalid_argument', 'the documents are too old'));
    const next = actions.startLife({ ...world.operations, readRevision }, 'b');
    await eventually(async () => {
      expect(await actions.notes(id, 1)).toContain(
        'conductor b failed in a beat of the action, and tries again: the documents are too old',
      );
    });
    await actions.control(id, 'stop');
    next.nudge();
    expect((await actions.ended(id)).state).toBe('aborted');
    expect((await actions.report(id)).nodes.failure).toEqual(['ntp01']);
    expect(await actions.steps(id)).toContainEqual(['baremetal_nodes', 'failed']);
    expect(await actions.notes(id, 1)).toContain('not broken off, look at them yourself: 1 node: ntp01');
  });

  test('stops what throws again and again', async () => {
    const { id, life, world } = await actions.begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.stop();
    await actions.control(id, 'stop');
    const advanceNodes = () => Promise.reject(new TypeError('a bug'));
    actions.startLife({ ...world.operations, advanceNodes }, 'b');
    expect((await actions.ended(id)).state).toBe('aborted');
    expect((await actions.report(id)).groups.map(({ stage }) => stage)).toContain('failure');
  });

  test('is told of an unknown action before an unknown verb', async () => {
    await expect(actions.control('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'dance')).rejects.toMatchObject({ code: 'not_found' });
    const { id } = await actions.begin();
    await expect(actions.control(id, 'dance')).rejects.toThrow(/must be one of pause, unpause, skip, stop/);
  });
});

/** Asks as `baton database restore` does, on a connection of its own. */
async function restore(): Promise<void> {
  const { db } = actions.api.context;
  const ask: Ask = async (text, values = []) => {
    const parts = text.split(/(\$\d)/).map((part) => {
      const at = /^\$(\d)$/.exec(part)?.[1];
      return at === undefined ? sql.raw(part) : sql`${values[Number(at) - 1]}::text`;
    });
    return { rows: rowsOf(await db.execute(sql.join(parts))) as never };
  };
  await holdAllNodes(ask, { reason: 'restored from a dump', by: 'baton database restore' });
}

describe('an action of a dump', () => {
  test('does nothing to any node, at work or not, until it is unpaused', async () => {
    const { id, world, life } = await actions.begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.kill();
    await restore();
    const asked: string[] = [];
    const advanceNodes: typeof world.operations.advanceNodes = (context, given) => {
      asked.push(...given.orders.map(({ node: { name } }) => name));
      return world.operations.advanceNodes(context, given);
    };
    await expireLease(actions.api.context, id);
    const next = actions.startLife({ ...world.operations, advanceNodes }, 'b');
    await actionBecomes(actions.api.context, id, isHeld);
    next.nudge();
    await actionBecomes(actions.api.context, id, ({ holder }) => holder === 'b');
    expect(asked).toEqual([]);
    expect(await actions.notes(id, 1)).toContain(
      'paused: restored from a dump. Say what each node is, then unpause the action, or stop it',
    );
    await expect(actions.control(id, 'pause')).rejects.toThrow(/is paused already/);
    await actions.control(id, 'unpause');
    next.nudge();
    await eventually(async () => {
      expect(asked).toContain('ntp01');
    });
    await actions.control(id, 'stop');
    next.nudge();
    expect((await actions.ended(id)).state).toBe('aborted');
  });

  test('that was being stopped is stopped', async () => {
    const { id, world, life } = await actions.begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.kill();
    await actions.control(id, 'stop');
    await restore();
    await expireLease(actions.api.context, id);
    actions.startLife(world.operations, 'b');
    expect((await actions.ended(id)).state).toBe('aborted');
  });

  test('begins no act that was decided on before, whatever it is', async () => {
    const { id, world, life } = await actions.begin({ fate: atWork('ntp01') });
    await eventually(async () => {
      expect(world.begun).toContain('prepare ntp01');
    });
    await life.kill();
    await restore();
    const { db } = actions.api.context;
    const { token } = await getAction(db, id);
    await expect(
      db.transaction((tx) => requireAction(tx, { actionId: id, token, isTeardown: false })),
    ).rejects.toMatchObject({ code: 'conflict', message: `site action ${id} is paused` });
    const wipe = db.transaction((tx) => whyNotToWipe(tx, { actionId: id, nodeName: 'ntp01' }));
    expect(await wipe).toBe('is paused');
  });
});
