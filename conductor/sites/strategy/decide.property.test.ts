import { expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import { applyDecisions, applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups, hasEnded } from '#conductor/sites/strategy/decide.ts';
import { judgeCriteria } from '#conductor/sites/strategy/success-criteria.ts';
import {
  anyFates,
  anySite,
  assertAll,
  groupIn,
  nodeNames,
  timeouts,
} from '#conductor/sites/strategy/testing/any-site.ts';
import { simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

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
