/** Draws that are the same for the same seed (mulberry32). */
export interface Draw {
  /** 0 to `below` - 1. */
  number(below: number): number;
  of<T>(choices: readonly T[]): T;
}

export function createDraw(seed: number): Draw {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const number = (below: number): number => Math.floor(next() * below);
  return {
    number,
    of: (choices) => {
      const chosen = choices[number(choices.length)];
      if (chosen === undefined) throw new Error('there is nothing to draw from');
      return chosen;
    },
  };
}
