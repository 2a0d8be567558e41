import { describe, expect, test } from 'vitest';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { NodePhase, SiteRun } from '#conductor/model/site/site-run.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';

/** "Example Processing" of seed 000: its three runs, in its words. */

const start = (): SiteRun =>
  planSite({ nodes: new Map(seedNodes.map((node) => [node.name, node])), strategy: seedStrategy });

const failing = (phase: NodePhase, prefix: string) => (node: string, at: NodePhase) => ({
  state: at === phase && node.startsWith(prefix) ? ('failed' as const) : ('done' as const),
});

/** `prepare ntp-node <SUCCESS>`, in the order in which groups were taken up; those that never were come last. */
function process(simulated: ReturnType<typeof simulateSite>): string[] {
  const { groups } = reportSite(simulated.run);
  const order = simulated.log.flatMap((line) => /^(.*): preparing$/.exec(line)?.[1] ?? []);
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return groups
    .toSorted((a, b) => place(a.name) - place(b.name))
    .flatMap(({ name, prepare, deploy }) => [`prepare ${name} <${prepare}>`, `deploy ${name} <${deploy}>`]);
}

describe('the seed’s example', () => {
  test('the order is one of the allowed ones, and groups are prepared and deployed one at a time', () => {
    const { log, run } = simulateSite(start());
    expect(run.groups.map(({ definition }) => definition.name)).toEqual([
      'monitoring-nodes',
      'ntp-node',
      'control-nodes',
      'compute-nodes-1',
      'compute-nodes-2',
    ]);
    expect(log.slice(0, 12)).toEqual([
      'monitoring-nodes: preparing',
      'prepare monitoring-nodes: control03 monitor01 monitor02',
      'monitoring-nodes: prepared',
      'monitoring-nodes: deploying',
      'deploy monitoring-nodes: control03 monitor01 monitor02',
      'monitoring-nodes: success',
      'ntp-node: preparing',
      'prepare ntp-node: ntp01',
      'ntp-node: prepared',
      'ntp-node: deploying',
      'deploy ntp-node: ntp01',
      'ntp-node: success',
    ]);
    // control03 is there already: not sent twice, and counted
    expect(log[13]).toBe('prepare control-nodes: control01 control02');
  });

  test('all succeed: Finish (success)', () => {
    const simulated = simulateSite(start());
    expect(process(simulated)).toEqual([
      'prepare monitoring-nodes <SUCCESS>',
      'deploy monitoring-nodes <SUCCESS>',
      'prepare ntp-node <SUCCESS>',
      'deploy ntp-node <SUCCESS>',
      'prepare control-nodes <SUCCESS>',
      'deploy control-nodes <SUCCESS>',
      'prepare compute-nodes-1 <SUCCESS>',
      'deploy compute-nodes-1 <SUCCESS>',
      'prepare compute-nodes-2 <SUCCESS>',
      'deploy compute-nodes-2 <SUCCESS>',
    ]);
    const report = reportSite(simulated.run);
    expect(report.conclusion).toBe('success');
    expect(report.nodes.success).toHaveLength(seedNodes.length);
  });

  test('ntp-node fails in prepare: Finish (failed due to critical group failed)', () => {
    const simulated = simulateSite(start(), { outcome: failing('prepare', 'ntp') });
    expect(process(simulated)).toEqual([
      'prepare monitoring-nodes <SUCCESS>',
      'deploy monitoring-nodes <SUCCESS>',
      'prepare ntp-node <FAILED>',
      'deploy ntp-node <FAILED, due to prepare failure>',
      'prepare control-nodes <FAILED, due to dependency>',
      'deploy control-nodes <FAILED, due to dependency>',
      'prepare compute-nodes-1 <FAILED, due to dependency>',
      'deploy compute-nodes-1 <FAILED, due to dependency>',
      'prepare compute-nodes-2 <FAILED, due to dependency>',
      'deploy compute-nodes-2 <FAILED, due to dependency>',
    ]);
    const report = reportSite(simulated.run);
    expect(report.conclusion).toBe('failed due to critical group failed');
    expect(report.failedCritical).toEqual(['ntp-node', 'control-nodes']);
    expect(report.groups[1]?.reason).toBe(
      'prepare: 0 of 1 nodes succeeded; minimum_successful_nodes asks for 1, there are 0',
    );
    expect(report.groups[2]?.reason).toBe('due to dependency: ntp-node failed');
    expect(report.nodes.failure).toEqual(['ntp01']);
    expect(report.nodes.success).toEqual(['control03', 'monitor01', 'monitor02']);
    expect(report.nodes.not_started).toHaveLength(10);
  });

  test('compute-nodes-2 fails in deploy: Finish (success with some nodes/groups failed)', () => {
    const simulated = simulateSite(start(), { outcome: failing('deploy', 'compute2') });
    expect(process(simulated).slice(6)).toEqual([
      'prepare compute-nodes-1 <SUCCESS>',
      'deploy compute-nodes-1 <SUCCESS>',
      'prepare compute-nodes-2 <SUCCESS>',
      'deploy compute-nodes-2 <FAILED>',
    ]);
    const report = reportSite(simulated.run);
    expect(report.conclusion).toBe('success with some nodes/groups failed');
    expect(report.failedCritical).toEqual([]);
  });

  test('a missed prepare leaves the nodes that were prepared as they are', () => {
    const simulated = simulateSite(start(), { outcome: failing('prepare', 'control01') });
    const report = reportSite(simulated.run);
    expect(report.groups[2]).toMatchObject({ stage: 'failure', prepare: 'FAILED' });
    expect(report.groups[2]?.misses).toEqual([
      { criterion: 'percent_successful_nodes', needed: 90, actual: 200 / 3 },
      { criterion: 'minimum_successful_nodes', needed: 3, actual: 2 },
    ]);
    expect(report.nodes.prepared).toEqual(['control02']);
    expect(simulated.log.filter((line) => line.startsWith('deploy control'))).toEqual([]);
  });
});
