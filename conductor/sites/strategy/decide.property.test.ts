import { expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { countOf } from '#conductor/model/site/rollout.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition, GroupRun, NodePhase, SiteRun } from '#conductor/model/site/site-run.ts';
import { applyDecisions, applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups, hasEnded } from '#conductor/sites/strategy/decide.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { judgeCriteria } from '#conductor/sites/strategy/success-criteria.ts';
import { type Simulation, simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Any site, with groups that overlap and depend on each other, and any fate of its nodes. */

const nodeNames = Array.from({ length: 8 }, (_, index) => `n${index}`);
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

const siteOf = (most: number) =>
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
const anyFates = fc
  .array(fc.tuple(fate, fate), { minLength: nodeNames.length, maxLength: nodeNames.length })
  .map((fates) => (node: string, phase: NodePhase) => {
    const [prepare, deploy] = fates[nodeNames.indexOf(node)] ?? [];
    return (phase === 'prepare' ? prepare : deploy) ?? { state: 'done' as const };
  });

/** Answers of gates by beat, over and over; they are good at last, so that each run ends. */
const anyAnswers = fc.array(fc.constantFrom('good', 'bad', 'none'), { minLength: 1, maxLength: 12 }).map(
  (answers): NonNullable<Simulation['gate']> =>
    (gate, beat) => {
      const answer = beat > 200 ? 'good' : answers[(beat + gate.length) % answers.length];
      return answer === 'none' ? undefined : { isGood: answer === 'good', said: `${answer}` };
    },
);

const timeouts = { prepare: 5, deploy: 5 };
const groupIn = (run: SiteRun, name: string) => {
  const group = run.groups.find(({ definition }) => definition.name === name);
  if (!group) throw new Error(`no group ${name}`);
  return group;
};

const anySite = siteOf(6);

const assertAll = (check: (start: SiteRun, simulation: Simulation) => void, sites = anySite) => {
  fc.assert(
    fc.property(sites, anyFates, anyAnswers, (start, outcome, gate) => check(start, { outcome, timeouts, gate })),
    { numRuns: 300 },
  );
};

test('every run ends, with nothing at work', () => {
  assertAll((start, simulation) => {
    const { run } = simulateSite(start, simulation);
    expect(hasEnded(run)).toBe(true);
    expect([...run.nodes.values()].filter(({ work }) => work)).toEqual([]);
    expect(reportSite(run).outcome).not.toBe('unfinished');
  });
});

test('never a node twice in a phase, deployed only when prepared, by a group that has it', () => {
  assertAll((start, simulation) => {
    const { begun } = simulateSite(start, simulation);
    const seen = new Set<string>();
    for (const { node, phase, group } of begun) {
      expect(seen).not.toContain(`${phase} ${node}`);
      expect(phase === 'prepare' || seen.has(`prepare ${node}`)).toBe(true);
      expect(groupIn(start, group).members).toContain(node);
      seen.add(`${phase} ${node}`);
    }
  });
});

test('a group is begun only when all that it depends on have succeeded, and fails when one of them has failed', () => {
  assertAll((start, simulation) => {
    const { run } = simulateSite(start, {
      ...simulation,
      watch: (stored, decisions) => {
        const after = applyDecisions(stored, decisions, 0);
        for (const { definition, stage } of after.groups) {
          const stages = definition.depends_on.map((name) => groupIn(after, name).stage);
          const allowed = stages.includes('failure')
            ? stage === 'failure'
            : stage === 'not_started' || stages.every((each) => each === 'success');
          expect(allowed).toBe(true);
        }
      },
    });
    for (const { definition, stage, reason } of run.groups) {
      const failed = definition.depends_on.filter((name) => groupIn(run, name).stage === 'failure');
      // at once with the first of them
      expect(failed.length === 0 || failed.some((name) => reason?.includes(name))).toBe(true);
      expect(stage === 'failure').toBe(reason !== undefined);
    }
  });
});

test('no more groups and nodes at work than allowed', () => {
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions) => {
        const after = applyDecisions(stored, decisions, 0);
        const active = after.groups.filter(({ stage }) => ['preparing', 'prepared', 'deploying'].includes(stage));
        expect(active.length).toBeLessThanOrEqual(start.maxParallelGroups);
        for (const { definition } of active) {
          const working = [...after.nodes.values()].filter(({ work }) => work?.group === definition.name).length;
          expect(working).toBeLessThanOrEqual(definition.max_parallel_nodes ?? nodeNames.length);
        }
        // nothing runs on behind the back of a group that has ended
        const names = new Set(active.map(({ definition }) => definition.name));
        expect([...after.nodes.values()].filter(({ work }) => work && !names.has(work.group))).toEqual([]);
      },
    });
  });
});

test('a group’s end agrees with its criteria over all its members, as they stand when it ends', () => {
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions) => {
        for (const decision of decisions) {
          if (decision.kind !== 'end group' || decision.reason?.startsWith('due to')) continue;
          const { definition, members, stage } = groupIn(stored, decision.group);
          if (stage !== 'deploying') continue;
          const succeeded = members.filter((name) => stored.nodes.get(name)?.status === 'success').length;
          const misses = judgeCriteria(definition.success_criteria, { members: members.length, succeeded });
          expect(decision.misses).toEqual(misses);
          const timedOut = groupIn(stored, decision.group).reason !== undefined;
          expect(decision.stage).toBe(misses.length > 0 || timedOut ? 'failure' : 'success');
        }
      },
    });
  });
});

test('decisions that are applied never come again; the same run is decided the same', () => {
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions, now, paused, looks) => {
        expect(decideGroups(structuredClone(stored), now, timeouts, { paused, looks })).toEqual(decisions);
        const isPaused = paused || decisions.some(({ kind }) => kind === 'pause');
        const after = applyDecisions(stored, decisions, now);
        expect(decideGroups(after, now, timeouts, { paused: isPaused, looks })).toEqual([]);
      },
    });
  });
});

test('killed anywhere, again and again, and begun again from what is stored: the same end', () => {
  fc.assert(
    fc.property(
      anySite,
      anyFates,
      fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
      (start, outcome, deaths) => {
        const simulation = { outcome, timeouts };
        const diesAt = (beat: number) => deaths[beat] ?? false;
        expect(simulateSite(start, { ...simulation, diesAt })).toEqual(simulateSite(start, simulation));
      },
    ),
  );
});

test('paused: nothing is begun and no time runs out; what is at work rests, and then nothing is left to decide', () => {
  assertAll((start, { outcome }) => {
    let run = applyDecisions(start, decideGroups(start, 0, timeouts), 0);
    for (let round = 0; round < 20; round += 1) {
      const decisions = decideGroups(run, 1_000_000, timeouts, { paused: true });
      expect(decisions.filter(({ kind }) => kind === 'begin' || kind === 'cancel')).toEqual([]);
      run = applyDecisions(run, decisions, 1_000_000);
      const ended = [...run.nodes].flatMap(([name, { work }]) => {
        if (!work) return [];
        const { state = 'done' } = outcome?.(name, work.phase) ?? {};
        return [[name, state === 'done' ? { state } : { state, error: textRemark('x') }] as const];
      });
      run = applyOutcomes(run, new Map(ended));
    }
    expect(decideGroups(run, 1_000_000, timeouts, { paused: true })).toEqual([]);
    expect([...run.nodes.values()].filter(({ work }) => work)).toEqual([]);
  });
});

// one group: nodes that several share are begun by whichever of them comes first
test('a rollout: never more nodes out than allowed, no node beside canaries that have not passed', () => {
  const violations: unknown[] = [];
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions, now) => {
        const after = applyDecisions(stored, decisions, now);
        for (const each of decisions) {
          if (each.kind !== 'begin' || each.phase !== 'prepare') continue;
          violations.push(...overLimits(after, groupIn(after, each.group), each.nodes));
        }
      },
    });
  }, siteOf(1));
  expect(violations).toEqual([]);
});

/** Limits of the rollout that are broken once these nodes have begun. */
function overLimits(run: SiteRun, { definition, members, rollout }: GroupRun, nodes: readonly string[]): unknown[] {
  const { canary, max_unavailable: limits = [] } = definition;
  const isLiving = (name: string): boolean => {
    const { status, work } = run.nodes.get(name) ?? {};
    return work !== undefined || status === 'prepared' || status === 'success';
  };
  const isOut = (name: string): boolean => {
    const { status, work } = run.nodes.get(name) ?? {};
    const isFailed = status === 'failure' && rollout?.excused.includes(name) !== true;
    return work !== undefined || status === 'prepared' || isFailed;
  };
  const living = members.filter(isLiving).length;
  const isBeside = canary !== undefined && rollout?.canariesPassed !== true && living > canary.nodes;
  const broken = limits.flatMap(({ nodes: most, per }) => {
    const domainOf = (name: string) => (per ? rollout?.domains[per]?.[members.indexOf(name)] : '');
    const touched = [...Map.groupBy(members, domainOf)].filter(([domain]) =>
      nodes.some((name) => domainOf(name) === domain),
    );
    return touched.filter(([, all]) => all.filter(isOut).length > countOf(most, all.length));
  });
  return [...(isBeside ? [{ living, canary }] : []), ...broken];
}

test('a rollout pauses where more nodes have failed than it goes on after, and begins nothing then', () => {
  const begun: unknown[] = [];
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions, _now, paused) => {
        const place = paused ? 0 : decisions.findIndex(({ kind }) => kind === 'pause');
        if (place >= 0) begun.push(...decisions.slice(place).filter(({ kind }) => kind === 'begin'));
        const stopped = new Set(stored.groups.filter((group) => hasFailedMuch(stored, group)).map(nameOf));
        begun.push(...decisions.filter((each) => each.kind === 'begin' && stopped.has(each.group)));
      },
    });
  });
  expect(begun).toEqual([]);
});

const nameOf = ({ definition }: GroupRun): string => definition.name;

function hasFailedMuch(run: SiteRun, { definition, members, rollout }: GroupRun): boolean {
  const most = definition.pause_on?.failed_nodes;
  const isFailed = (name: string): boolean =>
    run.nodes.get(name)?.status === 'failure' && rollout?.excused.includes(name) !== true;
  return most !== undefined && members.filter(isFailed).length >= countOf(most, members.length);
}

test('nothing begins, and no group is a success, beside a gate that was never good, is not, or not for long enough', () => {
  const violations: unknown[] = [];
  const seen = { begins: 0, ends: 0 };
  assertAll((start, simulation) => {
    const good = new Map<string, number>();
    simulateSite(start, {
      ...simulation,
      // a history of its own: a gate has to be good at each beat since
      gate: (gate, beat) => {
        const answer = simulation.gate?.(gate, beat);
        if (answer?.isGood === false) good.delete(gate);
        else if (answer && !good.has(gate)) good.set(gate, beat * 1000);
        return answer;
      },
      watch: (stored, decisions, now, paused) => {
        if (paused) good.clear();
        for (const each of decisions) {
          const isBegin = each.kind === 'begin' && each.phase === 'prepare';
          if (!isBegin && !(each.kind === 'end group' && each.stage === 'success')) continue;
          const { definition, rollout } = groupIn(applyDecisions(stored, decisions, now), each.group);
          if (!definition.health || (!isBegin && (rollout?.settled?.nodes ?? 0) === 0)) continue;
          seen[isBegin ? 'begins' : 'ends'] += 1;
          violations.push(
            ...definition.health.filter(
              ({ name, hold_seconds: hold }) =>
                now < Math.max(good.get(name) ?? Infinity, rollout?.settled?.at ?? 0) + hold * 1000,
            ),
          );
        }
      },
    });
  }, siteOf(1));
  expect(violations).toEqual([]);
  expect(Math.min(seen.begins, seen.ends)).toBeGreaterThan(0);
});

test('a gate that is bad for longer than its patience pauses the action, and no earlier', () => {
  const pauses: { reason: string; looks: readonly string[] }[] = [];
  assertAll((start, simulation) => {
    simulateSite(start, {
      ...simulation,
      watch: (stored, decisions, now, paused, looks) => {
        for (const { definition, stage } of paused ? [] : stored.groups) {
          const gates = definition.health ?? [];
          const late = gates.filter(({ name, patience_seconds: patience }) => {
            const look = looks.get(definition.name)?.get(name);
            return look?.state === 'bad' && now >= look.since + patience * 1000;
          });
          const pause = decisions.find((each) => each.kind === 'pause' && each.group === definition.name);
          const reason = pause?.kind === 'pause' ? pause.reason.code : 'none';
          if (reason === 'gate-bad' && late.length === 0) pauses.push({ reason, looks: [] });
          const begins = decisions.filter((each) => each.kind === 'begin' && each.group === definition.name);
          const isNew = begins.some((each) => each.kind === 'begin' && each.phase === 'prepare');
          if (late.length > 0 && stage === 'preparing' && isNew)
            pauses.push({ reason, looks: late.map(({ name }) => name) });
        }
      },
    });
  }, siteOf(1));
  expect(pauses).toEqual([]);
});

test('skips, whenever they come: limits hold, nothing begins while paused, each is followed once', () => {
  const violations: unknown[] = [];
  const seen = { past: 0 };
  const anySkips = fc.array(fc.nat({ max: 40 }), { maxLength: 5 });
  fc.assert(
    fc.property(siteOf(2), anyFates, anyAnswers, anySkips, (start, outcome, gate, beats) => {
      const followed = new Map<string, number>();
      simulateSite(start, {
        outcome,
        timeouts,
        gate,
        skips: (beat) => beats.filter((each) => each <= beat).length,
        watch: (stored, decisions, now, paused) => {
          const after = applyDecisions(stored, decisions, now);
          for (const each of decisions) {
            if (each.kind === 'skip') {
              if (each.skips <= (followed.get(each.group) ?? 0)) violations.push(each);
              followed.set(each.group, each.skips);
              seen.past += each.past ? 1 : 0;
            }
            if (each.kind !== 'begin') continue;
            if (paused) violations.push(each);
            if (each.phase === 'prepare' && start.groups.length === 1) {
              violations.push(...overLimits(after, groupIn(after, each.group), each.nodes));
            }
          }
        },
      });
    }),
    { numRuns: 300 },
  );
  expect(violations).toEqual([]);
  expect(seen.past).toBeGreaterThan(0);
});
