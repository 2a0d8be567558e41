import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { actionBecomes, commitRevision, isHeld, makeAction } from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld, makeSite } from '#conductor/sites/actions/testing/site-world.ts';
import { viewActionNodes } from '#conductor/sites/actions/view-groups.ts';
import { type ActionStage, openActionStage } from '#test/support/action-stage.ts';

/** Actions without groups: all their nodes in batches. */

let actions: ActionStage;
beforeAll(async () => {
  actions = await openActionStage();
});
afterEach(() => actions.clear());
afterAll(() => actions.close());

describe('actions without groups', () => {
  test('are paused between two batches of nodes, and stopped there; what was found is told by then', async () => {
    const calls: string[][] = [];
    const many = Array.from({ length: 40 }, (_, index) => ({ name: `n${index}`, tags: [], labels: {} }));
    const site = makeSite(many, { groups: [] });
    const world = createWorld(actions.api.context.db, { site: () => site });
    const id = await commitRevision(actions.api.context).then(() =>
      makeAction(actions.api.context, world.operations, { name: 'verify_site' }),
    );
    const verifyNodes: typeof world.operations.verifyNodes = async (context, work) => {
      calls.push([...work.names]);
      if (calls.length === 1) await actions.control(id, 'pause');
      return world.operations.verifyNodes(context, work);
    };
    const life = actions.startLife({ ...world.operations, verifyNodes }, 'a');
    await actionBecomes(actions.api.context, id, isHeld);
    expect(await actions.notes(id, 4)).toContain('n0: well');
    expect(calls).toHaveLength(1);
    await actions.control(id, 'stop');
    life.nudge();
    expect((await actions.ended(id)).state).toBe('aborted');
    expect(calls).toHaveLength(1);
  });

  test('verify_site touches nothing, tags nothing, and fails with a node', async () => {
    const { id, world } = await actions.begin({
      name: 'verify_site',
      verify: (node) =>
        node === 'ntp01'
          ? { state: 'failed', error: textRemark('its BMC does not answer'), findings: ['BMC 10.0.0.1'] }
          : { state: 'done', findings: [] },
    });
    const action = await actions.ended(id);
    expect(action).toMatchObject({ state: 'failed', error: 'verify_site: 1 node of 14 failed: ntp01' });
    expect(world.begun).toEqual([]);
    expect(await actions.tags()).toEqual([]);
    expect(await actions.notes(id, 2)).toContain('ntp01: BMC 10.0.0.1');
  });

  test('verify_site fails with nodes that are not as documented, and says of each what differs', async () => {
    const { id } = await actions.begin({
      name: 'verify_site',
      verify: (node) => ({
        state: 'done',
        findings: [],
        ...(node === 'ntp01' ? { differs: ['properties/rack', 'powered off'] } : {}),
        ...(node === 'control01' ? { differs: ['not enrolled'] } : {}),
      }),
    });
    const error = 'verify_site: 2 of 14 nodes are not as documented';
    expect(await actions.ended(id)).toMatchObject({ state: 'failed', error });
    const reported = (await actions.notes(id, 1)).find((text) => text.startsWith('14 nodes: '));
    expect(reported).toContain('14 nodes: 12 as documented, 2 differ: ');
    expect(reported).toContain('ntp01 (properties/rack, powered off)');
    expect(reported).toContain('control01 (not enrolled)');
    const rows = await viewActionNodes(actions.api.context, id, { status: 'failure' });
    expect(rows.map(({ name, reason }) => [name, reason])).toEqual([
      ['control01', 'not as documented: not enrolled'],
      ['ntp01', 'not as documented: properties/rack, powered off'],
    ]);
  });

  test('verify_site runs beside an action that works on nodes', async () => {
    const { context } = actions.api;
    const fate = () => ({ looks: Number.POSITIVE_INFINITY });
    const { id: other, world } = await actions.begin({ name: 'deploy_site', fate });
    const id = await makeAction(context, world.operations, { name: 'verify_site' });
    actions.startLife(world.operations, 'b');
    expect((await actions.ended(id)).state).toBe('succeeded');
    expect((await actionBecomes(context, other, () => true)).state).toBe('running');
  });

  test('relabel_nodes does what it is given', async () => {
    const { id } = await actions.begin({ name: 'relabel_nodes', parameters: { target_nodes: 'ntp01,control01' } });
    expect((await actions.ended(id)).state).toBe('succeeded');
    expect(await actions.notes(id, 1)).toContain('2 nodes: all well');
  });
});
