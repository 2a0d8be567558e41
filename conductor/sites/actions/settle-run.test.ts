import { describe, expect, test } from 'vitest';
import type { FlowRequest } from '#conductor/model/flows/flow-states.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { prolongPhases, settleRun, stopReason, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';

const timeouts = { prepare: 10, deploy: 10 };
const start = planSite({
  nodes: new Map(['n1', 'n2'].map((name) => [name, { name, tags: [], labels: {} }])),
  strategy: {
    name: 's',
    max_parallel_groups: 1,
    groups: ['n1', 'n2'].map((name) => ({
      name: `of-${name}`,
      critical: true,
      depends_on: [],
      selectors: [{ node_names: [name] }],
    })),
  },
});
const settle = (run: SiteRun, request: FlowRequest, now = 0) => settleRun(run, { request, now, timeouts });
const stages = ({ groups }: SiteRun) => groups.map(({ stage }) => stage);

describe('settling', () => {
  test('takes all decisions that there are, and then none', () => {
    const first = settle(start, 'run');
    expect(first.decisions.map(({ kind }) => kind)).toEqual(['enter stage', 'begin']);
    expect(settle(first.run, 'run')).toEqual({ run: first.run, decisions: [], isOver: false });
  });

  test('stopped: what was in service before is not called prepared; what was not, is', () => {
    const outcome = (code: 'deployed-already' | undefined) =>
      code ? { state: 'done' as const, remark: newRemark(code) } : { state: 'done' as const };
    const statusOf = (code: 'deployed-already' | undefined) => {
      const prepared = applyOutcomes(settle(start, 'run').run, new Map([['n1', outcome(code)]]));
      const { run } = settle(settle(prepared, 'hold').run, 'abort');
      expect(stages(run)).toEqual(['failure', 'not_started']);
      return reportSite(run).nodes;
    };
    expect(statusOf('deployed-already')).toMatchObject({ success: ['n1'], prepared: [], not_started: ['n2'] });
    expect(statusOf(undefined)).toMatchObject({ success: [], prepared: ['n1'], not_started: ['n2'] });
  });

  test('paused: what is at work ends its phase, and nothing begins', () => {
    expect(settle(start, 'hold')).toEqual({ run: start, decisions: [], isOver: false });
    const prepared = applyOutcomes(settle(start, 'run').run, new Map([['n1', { state: 'done' }]]));
    const held = settle(prepared, 'hold', 60_000);
    expect(workingNodes(held.run)).toEqual([]);
    expect(stages(held.run)).toEqual(['prepared', 'not_started']);
    const stopped = reportSite(settle(held.run, 'abort').run).groups;
    expect(stopped[0]).toMatchObject({ stage: 'failure', prepare: 'SUCCESS', deploy: 'not started' });
    expect(settle(held.run, 'run').decisions).toContainEqual({
      kind: 'begin',
      group: 'of-n1',
      phase: 'deploy',
      nodes: ['n1'],
    });
  });

  test('stopped: breaks off once what is at work, and is over when it rests', () => {
    const broken = settle(settle(start, 'run').run, 'abort');
    expect(broken.decisions).toEqual([{ kind: 'cancel', group: 'of-n1', nodes: ['n1'], reason: stopReason }]);
    expect(settle(broken.run, 'abort')).toMatchObject({ decisions: [], isOver: false });
    const ended = settle(
      applyOutcomes(broken.run, new Map([['n1', { state: 'failed', error: textRemark('x') }]])),
      'abort',
    );
    expect(ended.isOver).toBe(true);
    expect(stages(ended.run)).toEqual(['failure', 'not_started']);
    expect(ended.run.nodes.get('n1')).toEqual({ status: 'failure', reason: textRemark('x') });
    expect(settle(start, 'abort')).toEqual({ run: start, decisions: [], isOver: true });
  });

  test('a pause counts for no limit of a group under way', () => {
    const { run } = settle(start, 'run', 1000);
    const later = prolongPhases(run, 500);
    expect(later.groups[0]?.prepareStartedAt).toBe(1500);
    expect(later.nodes.get('n1')?.work?.startedAt).toBe(1500);
    expect(later.groups[1]).toBe(run.groups[1]);
    expect(settle(run, 'run', 11_100).decisions.map(({ kind }) => kind)).toContain('cancel');
    expect(settle(later, 'run', 11_100).decisions).toEqual([]);
  });
});
