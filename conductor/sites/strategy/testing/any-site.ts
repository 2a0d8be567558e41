import type { GroupDefinition, NodePhase, SiteRun } from '#conductor/model/site/site-run.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import type { Simulation } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Any site, with groups that overlap and depend on each other, and any fate of its nodes. */

export const nodeNames = Array.from({ length: 8 }, (_, index) => `n${index}`);
/** Absent in one of two cases. */
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });

const anyGate = (name: string) =>
  fc.record({
    name: fc.constant(name),
    http: fc.constant('http://api.example/'),
    hold_seconds: fc.nat({ max: 3 }),
    patience_seconds: fc.nat({ max: 3 }),
  });

const anyGroup = fc.record({
  critical: fc.boolean(),
  depends_on: fc.array(fc.nat({ max: 5 }), { maxLength: 2 }),
  // none is everybody, a stranger is nobody
  members: fc.subarray([...nodeNames, 'stranger']),
  success_criteria: maybe(
    fc.record(
      {
        percent_successful_nodes: fc.nat({ max: 100 }),
        minimum_successful_nodes: fc.nat({ max: 3 }),
        maximum_failed_nodes: fc.nat({ max: 2 }),
      },
      { requiredKeys: [] },
    ),
  ),
  max_parallel_nodes: maybe(fc.integer({ min: 1, max: 3 })),
  deploy_as_prepared: maybe(fc.boolean()),
  canary: maybe(fc.record({ nodes: fc.integer({ min: 1, max: 2 }), stay_seconds: fc.nat({ max: 3 }) })),
  batch: maybe(fc.array(fc.constantFrom<number | string>(1, 2, '10%', '50%'), { minLength: 1, maxLength: 3 })),
  max_unavailable: maybe(
    fc.array(
      fc.record(
        { nodes: fc.constantFrom<number | string>(1, 2, '50%'), per: fc.constantFrom('rack', 'label:pdu') },
        { requiredKeys: ['nodes'] },
      ),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  order: maybe(fc.record({ by: fc.constantFrom('rack', 'label:pdu'), manner: fc.constantFrom('together', 'spread') })),
  pause_on: maybe(
    fc.record({ failed_nodes: fc.constantFrom<number | string>(1, 2, '50%'), same_cause: fc.constant(2) }),
  ),
  health: maybe(
    fc
      .uniqueArray(fc.constantFrom('api', 'db'), { minLength: 1 })
      .chain((names) => fc.tuple(...names.map((name) => anyGate(name)))),
  ),
  prepare_timeout: maybe(fc.integer({ min: 1, max: 4 })),
  deploy_timeout: maybe(fc.integer({ min: 1, max: 4 })),
});

/** Three racks, two power feeds; of the last node nobody knows either. */
const siteNode = (name: string, index: number) =>
  index === nodeNames.length - 1
    ? { name, tags: [], labels: {} }
    : { name, tags: [], labels: { pdu: `p${index % 2}` }, rack: `r${index % 3}` };

export const siteOf = (most: number) =>
  fc
    .record({ groups: fc.array(anyGroup, { maxLength: most }), maxParallelGroups: fc.integer({ min: 1, max: 4 }) })
    .map(({ groups, maxParallelGroups }) => {
      const definitions = groups.map(({ depends_on: dependencies, members, ...more }, index): GroupDefinition => {
        const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
        return {
          critical: false,
          ...given,
          name: `g${index}`,
          depends_on: dependencies.filter((each) => each < index).map((each) => `g${each}`),
          selectors: [{ node_names: members }],
        };
      });
      const nodes = new Map(nodeNames.map((name, index) => [name, siteNode(name, index)]));
      return planSite({ nodes, strategy: { name: 's', groups: definitions, max_parallel_groups: maxParallelGroups } });
    });

const fate = fc.record({ state: fc.constantFrom('done' as const, 'failed' as const), beats: fc.nat({ max: 6 }) });
export const anyFates = fc
  .array(fc.tuple(fate, fate), { minLength: nodeNames.length, maxLength: nodeNames.length })
  .map((fates) => (node: string, phase: NodePhase) => {
    const [prepare, deploy] = fates[nodeNames.indexOf(node)] ?? [];
    return (phase === 'prepare' ? prepare : deploy) ?? { state: 'done' as const };
  });

/** Answers of gates by beat, over and over; they are good at last, so that each run ends. */
export const anyAnswers = fc.array(fc.constantFrom('good', 'bad', 'none'), { minLength: 1, maxLength: 12 }).map(
  (answers): NonNullable<Simulation['gate']> =>
    (gate, beat) => {
      const answer = beat > 200 ? 'good' : answers[(beat + gate.length) % answers.length];
      return answer === 'none' ? undefined : { isGood: answer === 'good', said: `${answer}` };
    },
);

export const timeouts = { prepare: 5, deploy: 5 };
export const groupIn = (run: SiteRun, name: string) => {
  const group = run.groups.find(({ definition }) => definition.name === name);
  if (!group) throw new Error(`no group ${name}`);
  return group;
};

export const anySite = siteOf(6);

export const assertAll = (check: (start: SiteRun, simulation: Simulation) => void, sites = anySite) => {
  fc.assert(
    fc.property(sites, anyFates, anyAnswers, (start, outcome, gate) => check(start, { outcome, timeouts, gate })),
    { numRuns: 300 },
  );
};
