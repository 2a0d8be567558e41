/** Things that happen at a moment of counted time, the soonest first; of those at one moment the one that was added first. */
export interface Moments<Thing> {
  add(at: number, thing: Thing): void;
  /** Time of the soonest; `undefined` = nothing is left. */
  next(): number | undefined;
  /** Takes out all that are due. */
  due(now: number): Thing[];
}

interface Entry<Thing> {
  readonly at: number;
  readonly order: number;
  readonly thing: Thing;
}

/** Makes an empty queue: a binary heap. */
export function newMoments<Thing>(): Moments<Thing> {
  const heap: Entry<Thing>[] = [];
  const state = { added: 0 };
  const isBefore = (a: number, b: number): boolean => {
    const [left, right] = [heap[a], heap[b]];
    if (!left || !right) return false;
    return left.at < right.at || (left.at === right.at && left.order < right.order);
  };
  const swap = (a: number, b: number): void => {
    const [left, right] = [heap[a], heap[b]];
    if (left && right) [heap[a], heap[b]] = [right, left];
  };
  const take = (): Entry<Thing> | undefined => {
    swap(0, heap.length - 1);
    const taken = heap.pop();
    for (let place = 0; ; ) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      const sooner = isBefore(right, left) ? right : left;
      if (!isBefore(sooner, place)) return taken;
      swap(sooner, place);
      place = sooner;
    }
  };
  return {
    add: (at, thing) => {
      heap.push({ at, order: state.added, thing });
      state.added += 1;
      for (let place = heap.length - 1; place > 0; ) {
        const parent = Math.floor((place - 1) / 2);
        if (!isBefore(place, parent)) return;
        swap(place, parent);
        place = parent;
      }
    },
    next: () => heap[0]?.at,
    due: (now) => {
      const due: Thing[] = [];
      while (heap[0] !== undefined && heap[0].at <= now) {
        const taken = take();
        if (taken) due.push(taken.thing);
      }
      return due;
    },
  };
}
