/** Each may take its kind's limit in memory, and as much again while it is parsed. */
const atOnce = 4;
/** An answer below it needs no place: a thousand of them take less than the large ones. */
export const largeBytes = 1024 * 1024;

const state = { free: atOnce, waiting: new Set<() => void>() };

/**
 * A place among the large answers that are read at the same time, whoever sends them. Who waits for one reads nothing,
 * so that the sender waits too.
 * @returns gives it back; again is nothing
 * @throws the signal's reason
 */
export async function takePlace(signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted();
  if (state.free > 0) state.free -= 1;
  else await turn(signal);
  let isTaken = true;
  return () => {
    if (!isTaken) return;
    isTaken = false;
    const [next] = state.waiting;
    if (next) next();
    else state.free += 1;
  };
}

function turn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      state.waiting.delete(begin);
      signal.removeEventListener('abort', stop);
    };
    const begin = (): void => {
      leave();
      resolve();
    };
    const stop = (): void => {
      leave();
      reject(signal.reason as Error);
    };
    state.waiting.add(begin);
    signal.addEventListener('abort', stop);
  });
}
