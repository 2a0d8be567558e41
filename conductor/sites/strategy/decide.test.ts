import { describe, expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition, NodePhase } from '#conductor/model/site/site-run.ts';
import { applyDecisions, applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups } from '#conductor/sites/strategy/decide.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { type Simulation, simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';

const group = (name: string, members: string, more: Partial<GroupDefinition> = {}): GroupDefinition => ({
  name,
  critical: false,
  depends_on: [],
  selectors: [{ node_names: members === '' ? ['nobody'] : members.split(' ') }],
  ...more,
});

function plan(groups: readonly GroupDefinition[], maxParallelGroups = 1) {
  const names = new Set(groups.flatMap(({ selectors }) => selectors.flatMap(({ node_names: each = [] }) => each)));
  names.delete('nobody');
  const nodes = new Map([...names].map((name) => [name, { name, tags: [], labels: {} }]));
  return planSite({ nodes, strategy: { name: 's', groups, max_parallel_groups: maxParallelGroups } });
}

const simulate = (groups: readonly GroupDefinition[], simulation: Simulation = {}, maxParallelGroups = 1) =>
  simulateSite(plan(groups, maxParallelGroups), simulation);

/** Fate of `a prepare`, `b deploy`; anything else is done at once. */
const fates =
  (table: Readonly<Record<string, { state?: 'done' | 'failed'; beats?: number }>>) =>
  (node: string, phase: NodePhase) => ({ state: 'done' as const, ...table[`${node} ${phase}`] });

const failed = { state: 'failed' as const };

describe('a group', () => {
  test('without criteria goes on as if nothing were wrong', () => {
    const { run, log } = simulate([group('g', 'a b'), group('after', 'c', { depends_on: ['g'] })], {
      outcome: fates({ 'a prepare': failed, 'b prepare': failed }),
    });
    expect(run.groups.map(({ stage }) => stage)).toEqual(['success', 'success']);
    expect(log).not.toContain('deploy g: a b');
    expect(reportSite(run)).toMatchObject({ outcome: 'success with failures', nodes: { failure: ['a', 'b'] } });
  });

  test('without nodes has 100 % and no failures, and misses a minimum', () => {
    const { run, log } = simulate([
      group('percent', '', { success_criteria: { percent_successful_nodes: 100, maximum_failed_nodes: 0 } }),
      group('minimum', '', { success_criteria: { minimum_successful_nodes: 1 } }),
      group('after', 'a', { depends_on: ['minimum'] }),
    ]);
    expect(run.groups.map(({ stage, reason }) => [stage, reason])).toEqual([
      ['success', undefined],
      ['failure', 'prepare: 0 of 0 nodes succeeded; minimum_successful_nodes asks for 1, there are 0'],
      ['failure', 'due to dependency: minimum failed'],
    ]);
    expect(log.filter((line) => line.includes('a'))).not.toContain('prepare after: a');
  });

  test('fails with what it depends on at once, and so do those behind it', () => {
    const start = plan([
      group('first', 'a', { success_criteria: { maximum_failed_nodes: 0 } }),
      group('second', 'b', { depends_on: ['first'], critical: true }),
      group('third', 'c', { depends_on: ['second'] }),
      group('other', 'd'),
    ]);
    let run = applyDecisions(start, decideGroups(start, 0, { prepare: 9, deploy: 9 }), 0);
    run = applyOutcomes(run, new Map([['a', { state: 'failed' as const, error: textRemark('no power') }]]));
    const decisions = decideGroups(run, 0, { prepare: 9, deploy: 9 });
    expect(decisions.slice(0, 3).map((decision) => 'reason' in decision && decision.reason)).toEqual([
      'prepare: 0 of 1 nodes succeeded; maximum_failed_nodes allows 0, there are 1',
      'due to dependency: first failed',
      'due to dependency: second failed',
    ]);
    expect(decisions[3]).toEqual({ kind: 'enter stage', group: 'other', stage: 'preparing' });
    run = applyDecisions(run, decisions, 0);
    expect(run.nodes.get('a')).toEqual({ status: 'failure', reason: textRemark('no power') });
    expect(reportSite(run)).toMatchObject({ failedCritical: ['second'], outcome: 'failure' });
  });

  test('takes nodes that another one prepared and never deployed', () => {
    const { log, run } = simulate(
      [
        group('strict', 'a b', { success_criteria: { maximum_failed_nodes: 0 } }),
        group('lenient', 'a b c', { success_criteria: { minimum_successful_nodes: 2 } }),
      ],
      { outcome: fates({ 'a prepare': failed }) },
    );
    expect(log.filter((line) => /^(prepare|deploy) /.test(line))).toEqual([
      'prepare strict: a b',
      'prepare lenient: c',
      'deploy lenient: b c',
    ]);
    expect(run.groups.map(({ stage }) => stage)).toEqual(['failure', 'success']);
  });
});

describe('groups beside each other', () => {
  test('a node that one works on is left to it, and the other waits before it is judged', () => {
    const criteria = { success_criteria: { maximum_failed_nodes: 0 } };
    const { log } = simulate(
      [group('one', 'a b', criteria), group('two', 'b c', criteria)],
      { outcome: fates({ 'b prepare': { beats: 3 }, 'b deploy': { beats: 2 } }) },
      2,
    );
    expect(log).toEqual([
      'one: preparing',
      'prepare one: a b',
      'two: preparing',
      'prepare two: c',
      'one: prepared',
      'one: deploying',
      'deploy one: a b',
      'two: prepared',
      'two: deploying',
      'deploy two: c',
      'one: success',
      'two: success',
    ]);
  });

  test('as many as allowed, in the order of the document', () => {
    const { log } = simulate([group('a', 'a'), group('b', 'b'), group('c', 'c')], {}, 2);
    expect(log.slice(0, 4)).toEqual(['a: preparing', 'prepare a: a', 'b: preparing', 'prepare b: b']);
    expect(log.indexOf('c: preparing')).toBeGreaterThan(log.indexOf('a: success'));
  });
});

describe('within a group', () => {
  test('max_parallel_nodes: so many at a time', () => {
    const { log } = simulate([group('g', 'a b c', { max_parallel_nodes: 2 })]);
    expect(log.filter((line) => /^(prepare|deploy) /.test(line))).toEqual([
      'prepare g: a b',
      'prepare g: c',
      'deploy g: a b',
      'deploy g: c',
    ]);
  });

  test('deploy_as_prepared: each as soon as it is prepared itself', () => {
    const { log, run } = simulate([group('g', 'a b', { deploy_as_prepared: true })], {
      outcome: fates({ 'b prepare': { beats: 5 } }),
    });
    expect(log.slice(0, 4)).toEqual(['g: preparing', 'prepare g: a b', 'deploy g: a', 'g: prepared']);
    expect(run.groups[0]?.stage).toBe('success');
  });

  test('deploy_as_prepared: a missed prepare begins nothing more, and ends when what was begun rests', () => {
    const { log } = simulate(
      [group('g', 'a b c', { deploy_as_prepared: true, success_criteria: { maximum_failed_nodes: 0 } })],
      {
        outcome: fates({
          'a deploy': { beats: 6 },
          'b prepare': { state: 'failed', beats: 1 },
          'c prepare': { beats: 1 },
        }),
      },
    );
    expect(log).toEqual([
      'g: preparing',
      'prepare g: a b c',
      'deploy g: a',
      'g: failure (prepare: 2 of 3 nodes succeeded; maximum_failed_nodes allows 0, there are 1)',
    ]);
  });
});

test('deploy_as_prepared: a deploy that fails does not make the prepare a failure', () => {
  const criteria = { success_criteria: { percent_successful_nodes: 100 } };
  const { log, run } = simulate([group('g', 'a b', { deploy_as_prepared: true, ...criteria })], {
    outcome: fates({ 'a deploy': { state: 'failed', beats: 1 }, 'b prepare': { beats: 4 } }),
  });
  expect(log).toEqual([
    'g: preparing',
    'prepare g: a b',
    'deploy g: a',
    'g: prepared',
    'g: deploying',
    'deploy g: b',
    'g: failure (deploy: 1 of 2 nodes succeeded; percent_successful_nodes asks for 100 %, there are 50 %)',
  ]);
  expect(reportSite(run).groups[0]).toMatchObject({ prepare: 'SUCCESS', deploy: 'FAILED' });
});

describe('a time that runs out', () => {
  const slow = { outcome: fates({ 'b prepare': { beats: 99 } }), timeouts: { prepare: 3, deploy: 9 } };

  test('breaks off what is at work, and fails the group whatever its criteria', () => {
    const { log, run } = simulate([group('g', 'a b'), group('after', 'c', { depends_on: ['g'] })], slow);
    expect(log).toEqual([
      'g: preparing',
      'prepare g: a b',
      'cancel g: b (prepare: not finished within 3 s (1 still at work))',
      'g: failure (prepare: not finished within 3 s (1 still at work))',
      'after: failure (due to dependency: g failed)',
    ]);
    expect(reportSite(run).nodes).toMatchObject({ prepared: ['a'], failure: ['b'], not_started: ['c'] });
  });

  test('a group’s own time holds for it; nodes that wait for their turn are left as they are', () => {
    const { log, run } = simulate([group('g', 'b c', { prepare_timeout: 5, max_parallel_nodes: 1 })], {
      ...slow,
      timeouts: { prepare: 900, deploy: 900 },
    });
    expect(log[2]).toBe('cancel g: b (prepare: not finished within 5 s (1 still at work, 1 not begun))');
    expect(run.nodes.get('c')).toEqual({ status: 'not_started' });
  });

  test('where nodes queue for a limit: each has its own from its beginning, and those beside it go on', () => {
    const names = 'a b c d e f';
    const slowly = Object.fromEntries(names.split(' ').map((name) => [`${name} prepare`, { beats: 4 }]));
    const options = { max_parallel_nodes: 2, prepare_timeout: 5 };
    const { log } = simulate([group('g', names, options)], { outcome: fates(slowly) });
    expect(log.filter((line) => line.startsWith('cancel'))).toEqual([]);
    expect(log.at(-1)).toBe('g: success');
    const hangs = { ...slowly, 'c prepare': { beats: 99 }, 'd prepare': { beats: 3 } };
    const { run } = simulate([group('g', names, options)], { outcome: fates(hangs) });
    expect(reportSite(run)).toMatchObject({
      groups: [{ stage: 'failure', reason: 'prepare: not finished within 5 s (1 still at work, 1 not begun)' }],
      nodes: { failure: ['c'], not_started: ['f'], prepared: ['a', 'b', 'd', 'e'] },
    });
  });

  test('of one group leaves another’s work on a shared node alone', () => {
    const { log } = simulate(
      [group('patient', 'b', { prepare_timeout: 200 }), group('hasty', 'b c', { prepare_timeout: 2 })],
      slow,
      2,
    );
    expect(log.filter((line) => line.startsWith('cancel'))).toEqual([]);
    expect(log.slice(-2)).toEqual(['patient: success', 'hasty: success']);
  });

  test('of a deploy; and the group begins nothing while anything is being broken off', () => {
    const start = plan([group('g', 'a b', { max_parallel_nodes: 1, deploy_timeout: 2 })]);
    const { log } = simulateSite(start, { outcome: fates({ 'a deploy': { beats: 99 } }) });
    expect(log.slice(-2)).toEqual([
      'cancel g: a (deploy: not finished within 2 s (1 still at work, 1 not begun))',
      'g: failure (deploy: not finished within 2 s (1 still at work, 1 not begun))',
    ]);
  });
});

test('10,000 nodes in 200 groups beside each other come to their end', () => {
  const groups = Array.from({ length: 200 }, (_, index) =>
    group(`g${index}`, Array.from({ length: 50 }, (_unused, nth) => `n${index * 50 + nth}`).join(' ')),
  );
  const { run, begun } = simulate(groups, {}, 200);
  expect(begun).toHaveLength(20_000);
  expect(reportSite(run).outcome).toBe('success');
});
