/** A source of numbers from 0 up to, and without, 1. */
export type Random = () => number;

/** Makes a source whose numbers are the same for the same seed: mulberry32. @param seed a whole number below 2³² */
export function newRandom(seed: number): Random {
  const state = { value: seed >>> 0 };
  return () => {
    state.value = (state.value + 0x6d2b79f5) >>> 0;
    let mixed = state.value;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Picks one of them, each as likely as the others. @throws RangeError for an empty list */
export function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to pick from');
  return item;
}
