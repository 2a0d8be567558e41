import { type Area, type Figure, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { type PatroniLab, startPatroniLab } from '#test/support/patroni-lab.ts';

const rounds = 3;

/** Ways by which another database server comes to lead; one that was killed starts again once the other leads. */
const changes = {
  killed: async (lab: PatroniLab) => {
    const state = { killed: '' };
    const came = await lab.disturb(async () => {
      state.killed = await lab.pair.killLeader();
    });
    lab.pair.start(state.killed);
    return came;
  },
  switchover: (lab: PatroniLab) => lab.disturb(() => lab.pair.switchOver()),
} as const;

/**
 * How long a conductor writes nothing when Patroni lets another database server lead, and what becomes of the deploys and
 * allocations under way.
 */
export const patroniArea: Area = {
  name: 'patroni',
  measure: async ({ say }) => {
    const lab = await startPatroniLab();
    try {
      const figures: Record<string, Figure> = {};
      const seen = { lost: 0, doubled: 0, held: 0 };
      for (const [name, change] of Object.entries(changes)) {
        const seconds: number[] = [];
        while (seconds.length < rounds) {
          const came = await change(lab);
          seconds.push(came.seconds);
          seen.lost += came.lost.length;
          seen.doubled += came.doubled.length;
          seen.held += came.held.length;
        }
        say(`${name}: ${seconds.map((each) => round(each)).join(', ')} s; load ${await loadAverage()}`);
        figures[`${name}_s`] = { value: round(Math.max(...seconds)), unit: 's' };
      }
      const counted = Object.entries(seen).map(([name, value]): [string, Figure] => [name, { value, unit: 'times' }]);
      return { ...figures, ...Object.fromEntries(counted) };
    } finally {
      await lab.close();
    }
  },
};
