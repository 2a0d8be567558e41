export interface ParallelOptions {
  /** So many at the same time. */
  readonly atOnce: number;
  /** Asked before each but the first: what has not begun when it says no is left out. */
  readonly goOn?: () => boolean;
}

/**
 * Acts on each, in their order.
 * @returns the results in the order of the items, as far as they have begun
 * @throws what the first has failed with, once those beside it have ended: after a failure nothing begins any more, and
 * nothing goes on behind the caller's back
 */
export async function inParallel<Item, Result>(
  items: Iterable<Item>,
  act: (item: Item) => Promise<Result>,
  { atOnce, goOn }: ParallelOptions,
): Promise<Result[]> {
  const list = Array.from(items);
  const queue = list.entries();
  const results: Result[] = [];
  const failures: unknown[] = [];
  let begun = 0;
  const mayBegin = (): boolean => failures.length === 0 && (begun === 0 || goOn === undefined || goOn());
  const work = async (): Promise<void> => {
    while (mayBegin()) {
      const next = queue.next();
      if (next.done) return;
      begun += 1;
      const [index, item] = next.value;
      try {
        results[index] = await act(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
