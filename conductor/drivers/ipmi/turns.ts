import type { Clock } from '#shared/clock.ts';

/** Lets one call at a time through for each key, with a pause between the end of one and the start of the next. */
export interface Turns {
  take<T>(key: string, signal: AbortSignal, act: () => Promise<T>): Promise<T>;
}

export function createTurns(clock: Clock, minSpacingMs: number): Turns {
  const last = new Map<string, Promise<number>>();
  return {
    take: async (key, signal, act) => {
      const before = last.get(key);
      const ended = Promise.withResolvers<number>();
      last.set(key, ended.promise);
      try {
        const endedAt = await before;
        const wait = endedAt === undefined ? 0 : endedAt + minSpacingMs - clock.now().getTime();
        if (wait > 0) await clock.sleep(wait, signal);
        return await act();
      } finally {
        ended.resolve(clock.now().getTime());
      }
    },
  };
}
