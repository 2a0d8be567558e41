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
