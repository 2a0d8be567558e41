import { expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import type { NodePhase, SiteRun } from '#conductor/model/site/site-run.ts';
import { runOnce } from '#conductor/sites/rehearsal/engine/run-once.ts';
import { anyFates, anySite } from '#conductor/sites/strategy/testing/any-site.ts';
import { simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const timeouts = { prepare: 100_000, deploy: 100_000 };

/** Without gates, which the beats ask a beat late, and without times of its own, which the beats notice a beat late. */
const plain = (start: SiteRun): SiteRun => ({
  ...start,
  groups: start.groups.map(({ definition, ...group }) => {
    const { health: _health, prepare_timeout: _prepare, deploy_timeout: _deploy, ...rest } = definition;
    return { ...group, definition: rest };
  }),
});

test('a rehearsed run begins and ends the same, in the same order, as the engine that runs beat by beat', () => {
  const paused = new Set<boolean>();
  fc.assert(
    fc.property(anySite, anyFates, (drawn, fate) => {
      const start = plain(drawn);
      const begun: { node: string; phase: NodePhase; group: string }[] = [];
      const rehearsed = runOnce(
        { start, timeouts, beginsAt: 0, racks: new Map() },
        {
          draw: (node, phase) => {
            const drawnFate = fate(node, phase);
            const beats = 'beats' in drawnFate ? drawnFate.beats : 0;
            const { state } = drawnFate;
            const error = textRemark(`${phase} of ${node} failed`);
            const outcome = state === 'done' ? { state } : { state, error };
            return { ms: (beats + 1) * 1000, isKnown: true, outcome };
          },
          watch: (decision) => {
            if (decision.kind !== 'begin') return;
            const { phase, group } = decision;
            begun.push(...decision.nodes.map((node) => ({ node, phase, group })));
          },
        },
      );
      const simulated = simulateSite(start, { outcome: fate, timeouts });
      const { pause } = rehearsed;
      paused.add(pause !== undefined);
      expect(pause !== undefined).toBe(simulated.pauses > 0);
      expect(begun).toEqual(pause ? simulated.begun.slice(0, begun.length) : simulated.begun);
      if (pause) return;
      expect(rehearsed.run.nodes).toEqual(simulated.run.nodes);
      const ends = (run: SiteRun) => run.groups.map(({ stage, reason, misses }) => ({ stage, reason, misses }));
      expect(ends(rehearsed.run)).toEqual(ends(simulated.run));
    }),
    { numRuns: 500 },
  );
  expect(paused).toEqual(new Set([true, false]));
});
