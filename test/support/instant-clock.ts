import type { Clock } from '#shared/clock.ts';

/** Sleeps end at once and move its time on. */
export function createInstantClock(): Clock & { readonly sleeps: number[] } {
  const sleeps: number[] = [];
  return {
    sleeps,
    now: () => new Date(sleeps.reduce((sum, ms) => sum + ms, 0)),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
    },
  };
}
