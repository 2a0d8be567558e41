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

export interface AtOnceLimits {
  /** Tasks that run at the same time. */
  readonly most: number;
  /** How many may wait for their turn, and what the next one is refused with; any number without. */
  readonly waiting?: { readonly most: number; readonly refusal: () => Error };
}

/**
 * Runs a task when its turn has come, in the order in which they ask.
 * @throws the refusal, the signal's reason when it aborts before the turn has come, or what the task throws
 */
export type RunInTurn = <T>(task: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Lets so many tasks run at the same time; the others wait. */
export function limitAtOnce({ most, waiting: line }: AtOnceLimits): RunInTurn {
  const state = { running: 0 };
  const waiting = new Set<() => void>();

  const enter = async (signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted();
    if (state.running < most) {
      state.running += 1;
      return;
    }
    if (line && waiting.size >= line.most) throw line.refusal();
    const turn = Promise.withResolvers<void>();
    const giveUp = (): void => {
      // a turn that has come just now is taken, or its place would be lost
      if (waiting.delete(turn.resolve)) turn.reject(signal?.reason);
    };
    waiting.add(turn.resolve);
    signal?.addEventListener('abort', giveUp, { once: true });
    await turn.promise.finally(() => signal?.removeEventListener('abort', giveUp));
  };
  const leave = (): void => {
    const [next] = waiting;
    if (!next) {
      state.running -= 1;
      return;
    }
    // the place is handed on, so that nobody who comes just now gets in before
    waiting.delete(next);
    next();
  };

  return async (task, signal) => {
    await enter(signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}
