import { expect, test } from 'vitest';
import type {
  GroupDefinition,
  GroupStage,
  NodePhase,
  NodeStatus,
  SiteRun,
  SuccessCriteria,
} from '#conductor/model/site/site-run.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** "Process" of seed 000 as it stands there, one sentence after another, against `decideGroups` one group at a time. */

type Succeeds = (node: string, phase: NodePhase) => boolean;

function processAsTheSeedSays(run: SiteRun, succeeds: Succeeds) {
  const nodes = new Map<string, NodeStatus>([...run.nodes.keys()].map((name) => [name, 'not_started']));
  const groups = new Map<string, GroupStage>(run.groups.map(({ definition }) => [definition.name, 'not_started']));
  const isMet = (members: readonly string[], statuses: readonly NodeStatus[], criteria: SuccessCriteria = {}) => {
    const good = members.filter((name) => statuses.includes(nodes.get(name) ?? 'not_started')).length;
    const rate = members.length === 0 ? 100 : (good * 100) / members.length;
    return (
      rate >= (criteria.percent_successful_nodes ?? 0) &&
      good >= (criteria.minimum_successful_nodes ?? 0) &&
      members.length - good <= (criteria.maximum_failed_nodes ?? members.length)
    );
  };
  const send = (members: readonly string[], phase: NodePhase): void => {
    const valid = phase === 'prepare' ? 'not_started' : 'prepared';
    for (const name of members.filter((each) => nodes.get(each) === valid)) {
      nodes.set(name, succeeds(name, phase) ? (phase === 'prepare' ? 'prepared' : 'success') : 'failure');
    }
  };
  for (const { definition, members } of run.groups) {
    const { name, depends_on: dependencies, success_criteria: criteria } = definition;
    let isGood = dependencies.every((dependency) => groups.get(dependency) === 'success');
    if (isGood) {
      send(members, 'prepare');
      isGood = isMet(members, ['prepared', 'success'], criteria);
    }
    if (isGood) {
      send(members, 'deploy');
      isGood = isMet(members, ['success'], criteria);
    }
    groups.set(name, isGood ? 'success' : 'failure');
  }
  return { nodes, groups };
}

const nodeNames = Array.from({ length: 6 }, (_, index) => `n${index}`);

const anyRun = fc
  .array(
    fc.record({
      dependencies: fc.array(fc.nat({ max: 6 }), { maxLength: 2 }),
      members: fc.subarray([...nodeNames, 'stranger']),
      criteria: fc.record(
        {
          percent_successful_nodes: fc.nat({ max: 100 }),
          minimum_successful_nodes: fc.nat({ max: 3 }),
          maximum_failed_nodes: fc.nat({ max: 3 }),
        },
        { requiredKeys: [] },
      ),
      limit: fc.integer({ min: 1, max: 6 }),
    }),
    { maxLength: 7 },
  )
  .map((groups) => {
    const definitions = groups.map(
      ({ dependencies, members, criteria, limit }, index): GroupDefinition => ({
        name: `g${index}`,
        critical: false,
        depends_on: dependencies.filter((each) => each < index).map((each) => `g${each}`),
        selectors: [{ node_names: members }],
        success_criteria: criteria,
        max_parallel_nodes: limit,
      }),
    );
    const nodes = new Map(nodeNames.map((name) => [name, { name, tags: [], labels: {} }]));
    return planSite({ nodes, strategy: { name: 's', groups: definitions, max_parallel_groups: 1 } });
  });

test('any site, any fate of its nodes: groups and nodes end as the seed’s process has it', () => {
  const fates = fc.uniqueArray(fc.constantFrom(...nodeNames.flatMap((name) => [`prepare ${name}`, `deploy ${name}`])));
  fc.assert(
    fc.property(anyRun, fates, fc.nat({ max: 3 }), (start, failing, beats) => {
      const succeeds: Succeeds = (node, phase) => !failing.includes(`${phase} ${node}`);
      const expected = processAsTheSeedSays(start, succeeds);
      const { run } = simulateSite(start, {
        outcome: (node, phase) => ({ state: succeeds(node, phase) ? 'done' : 'failed', beats }),
      });
      expect(new Map(run.groups.map(({ definition, stage }) => [definition.name, stage]))).toEqual(expected.groups);
      expect(new Map([...run.nodes].map(([name, { status }]) => [name, status]))).toEqual(expected.nodes);
    }),
    { numRuns: 500 },
  );
});
