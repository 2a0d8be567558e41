import { describe, expect, test } from 'vitest';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { GroupDefinition } from '#conductor/model/site/site-run.ts';
import type { NodeCourse, StepHistory } from '#conductor/sites/rehearsal/engine/course.ts';
import { type RehearsalOrder, rehearse } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';

const step = (title: string, succeeded: readonly number[], failed: readonly number[] = []): StepHistory => ({
  title,
  succeeded,
  failed,
  isOfModel: true,
});
const courseOf = (prepare: readonly StepHistory[], deploy?: readonly StepHistory[]): NodeCourse => ({
  prepare: { flows: [{ kind: 'clean', steps: prepare }], end: { state: 'done' } },
  deploy: { flows: [{ kind: 'deploy', ...(deploy ? { steps: deploy } : {}) }], end: { state: 'done' } },
});

type Group = Partial<GroupDefinition> & { readonly name: string; readonly nodes: readonly string[] };
function orderOf(groups: readonly Group[], course: NodeCourse, more: Partial<RehearsalOrder> = {}): RehearsalOrder {
  const names = [...new Set(groups.flatMap(({ nodes }) => nodes))];
  const definitions = groups.map(
    ({ nodes, ...given }): GroupDefinition => ({
      critical: true,
      depends_on: [],
      selectors: [{ node_names: nodes }],
      success_criteria: { percent_successful_nodes: 100 },
      ...given,
    }),
  );
  const start = planSite({
    nodes: new Map(names.map((name) => [name, { name, tags: [], labels: {} }])),
    strategy: { name: 's', groups: definitions, max_parallel_groups: 1 },
  });
  return {
    scene: { start, timeouts: { prepare: 1800, deploy: 3600 }, beginsAt: 0, racks: new Map([['a1', 'r1']]) },
    courses: new Map(names.map((name) => [name, course])),
    failures: { nodes: new Map(), share: 0 },
    runs: 50,
    seed: 1,
    ...more,
  };
}

const chain: Group[] = [
  { name: 'a', nodes: ['a1', 'a2'] },
  { name: 'b', nodes: ['b1'], depends_on: ['a'] },
];
const steady = courseOf([step('clean.erase', [60])], [step('deploy.write_image', [100, 100])]);

describe('a rehearsal', () => {
  test('adds up what steps took, says who is out at once, and what the end follows from', () => {
    const { ends, groups, nodes, mostOut, racks, criticalPath, succeeded } = rehearse(orderOf(chain, steady));
    const at = (seconds: number) => ({ median: seconds, p90: seconds, isAssumed: false });
    expect([ends, succeeded]).toEqual([at(320), 50]);
    expect(groups.get('b')).toEqual({
      begins: at(160),
      ends: at(320),
      begun: 50,
      succeeded: 50,
      failed: 0,
      mostOut: { median: 1, most: 1 },
    });
    expect(nodes.get('a2')).toMatchObject({ begins: at(0), ends: at(160) });
    expect([mostOut.most, racks.get('r1')?.most, racks.get('')?.most]).toEqual([2, 1, 1]);
    expect(criticalPath).toEqual([
      { group: 'a', node: 'a1', begins: 0, ends: 160 },
      { group: 'b', node: 'b1', begins: 160, ends: 320 },
    ]);
  });

  test('draws times and failures from what is recorded, the same for the same seed', () => {
    const course = courseOf(
      [step('clean.erase', [10, 20, 30, 40])],
      [
        step(
          'deploy.write_image',
          Array.from({ length: 9 }, () => 100),
          [50],
        ),
      ],
    );
    const order = orderOf([{ name: 'a', nodes: ['a1'] }], course, { runs: 2000 });
    const { groups, nodes } = rehearse(order);
    const { succeeded = 0, failed = 0, ends } = groups.get('a') ?? {};
    expect(succeeded + failed).toBe(2000);
    expect(succeeded / 2000).toBeCloseTo(0.9, 1);
    expect(ends?.p90).toBe(140);
    expect([110, 120, 130]).toContain(ends?.median);
    expect(rehearse(order).nodes).toEqual(nodes);
    expect(rehearse({ ...order, seed: 2 }).nodes).not.toEqual(nodes);
  });

  test('marks each time that follows from one of which none is recorded, and no other', () => {
    const { ends, groups } = rehearse(orderOf(chain, courseOf([step('clean.erase', [60])])));
    expect(ends).toEqual({ median: 1320, p90: 1320, isAssumed: true });
    expect(groups.get('a')?.begins?.isAssumed).toBe(false);
    expect(groups.get('b')?.begins).toEqual({ median: 660, p90: 660, isAssumed: true });
  });

  test('has nodes fail where it is asked: there, and at no other step', () => {
    const at = { phase: 'deploy' as const, at: 'deploy.write_image' };
    const { groups, nodes, succeeded } = rehearse(
      orderOf(chain, steady, { failures: { nodes: new Map([['a2', at]]), share: 0 } }),
    );
    expect([nodes.get('a2')?.failed, nodes.get('a2')?.ends?.median, nodes.get('a1')?.succeeded]).toEqual([50, 160, 50]);
    expect([groups.get('a')?.failed, groups.get('b')?.begun, succeeded]).toEqual([50, 0, 0]);
  });

  test('has a share of the nodes fail', () => {
    const many = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const group = { name: 'a', nodes: many, success_criteria: { maximum_failed_nodes: 20 } };
    const { nodes } = rehearse(orderOf([group], steady, { failures: { nodes: new Map(), share: 0.25 } }));
    const failed = [...nodes.values()].reduce((sum, node) => sum + node.failed, 0);
    expect(failed / (20 * 50)).toBeCloseTo(0.25, 1);
  });

  test('ends a run in which the action pauses by itself, and says why', () => {
    const at = { phase: 'prepare' as const, at: 'prepare' };
    const group = { name: 'a', nodes: ['a1', 'a2', 'a3'], max_parallel_nodes: 1, pause_on: { failed_nodes: 1 } };
    const { pauses, ends, nodes } = rehearse(
      orderOf([group], steady, { failures: { nodes: new Map([['a1', at]]), share: 0 } }),
    );
    expect(pauses).toEqual([{ group: 'a', reason: expect.stringContaining('1'), runs: 50 }]);
    expect([ends, nodes.get('a3')?.begun]).toEqual([null, 0]);
  });

  test('counts no node as out that stays as it is', () => {
    const deployed = { flows: [], end: { state: 'done', remark: newRemark('deployed-already') } } as const;
    const asItIs: NodeCourse = { prepare: deployed, deploy: deployed };
    const order = orderOf([{ name: 'a', nodes: ['a1', 'a2'] }], asItIs);
    const courses = new Map([...order.courses, ['a2', steady] as const]);
    expect(rehearse({ ...order, courses })).toMatchObject({ mostOut: { most: 1 }, succeeded: 50 });
  });

  test('breaks off what waits without an end when its group’s time is over', () => {
    const waiting: NodeCourse = {
      ...steady,
      prepare: { flows: [], end: { state: 'waits', doing: newRemark('enrolling') } },
    };
    const { groups } = rehearse(orderOf([{ name: 'a', nodes: ['a1'] }], waiting));
    expect(groups.get('a')).toMatchObject({ failed: 50, ends: { median: 1800 } });
  });
});
