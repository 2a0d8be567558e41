/**
 * Starts `load` for up to `atOnce` items, counting the one being consumed, and yields their results in the items'
 * order. When it ends early, loads under way are aborted and waited for: they may hold the disk.
 */
export async function* inOrder<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  load: (item: Item, signal: AbortSignal) => Promise<Result>,
): AsyncGenerator<Result> {
  const stop = new AbortController();
  const ahead: Promise<Result>[] = [];
  let next = 0;
  const startMore = (): void => {
    for (; ahead.length < atOnce && next < items.length; next += 1) {
      const loading = load(items[next] as Item, stop.signal);
      loading.catch(() => undefined); // thrown when its turn comes; after an earlier failure it is an abort
      ahead.push(loading);
    }
  };
  try {
    for (startMore(); ahead.length > 0; startMore()) {
      yield await (ahead[0] as Promise<Result>);
      void ahead.shift();
    }
  } finally {
    stop.abort();
    await Promise.allSettled(ahead);
  }
}
