import { expect, test } from 'vitest';
import { countOf } from '#conductor/model/site/rollout.ts';
import type { GroupRun, SiteRun } from '#conductor/model/site/site-run.ts';
import { applyDecisions } from '#conductor/sites/strategy/apply-decisions.ts';
import {
  anyAnswers,
  anyFates,
  assertAll,
  groupIn,
  siteOf,
  timeouts,
} from '#conductor/sites/strategy/testing/any-site.ts';
import { simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

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

test('nothing begins, and no group is a success, unless each gate is good and has been for long enough', () => {
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

test('a gate pauses the action once it has been bad for its patience, and no earlier', () => {
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
