/**
 * Gathers what is asked for while a run is under way, and does all of it in the next: the more there is to do, the less
 * each costs. Nothing waits for a timer: who comes when nothing runs is served alone, at once.
 * @param run answers one result per item, in their order; when it fails, all of them fail
 */
export function createBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  maxItems = 500,
): (item: Item) => Promise<Result> {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }
  const waiting: Waiting[] = [];
  const state = { runs: false };
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems);
      try {
        const results = await run(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    state.runs = false;
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (state.runs) return;
      state.runs = true;
      void work();
    });
}
