import { inTime } from '#shared/in-time.ts';

export interface BatchOptions {
  readonly maxItems?: number;
  /** A run that takes longer fails (`database_error`), and the next begins: one hung connection must not stop all. */
  readonly deadlineMs?: number;
  /** Whether a failure may be caused by one item: then each is tried by itself. */
  readonly isOneItems?: (error: unknown) => boolean;
}

/**
 * Gathers what is asked for while a run is under way, and does all of it in the next: the more there is to do, the less
 * each costs. Nothing waits for a timer: an item that comes when nothing runs is served at once.
 * @param run answers one result per item, in their order; when it fails, all of them fail. Safe to repeat: what is given
 * up after the deadline may still be done
 */
export function createBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems = 500, deadlineMs = 10_000, isOneItems = () => false }: BatchOptions = {},
): (item: Item) => Promise<Result> {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }
  const late = { code: 'database_error', message: `no answer within ${deadlineMs / 1000} s` } as const;
  const waiting: Waiting[] = [];
  const state = { runs: false };
  const serve = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const results = await inTime(run(batch.map(({ item }) => item)), deadlineMs, late);
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (batch.length > 1 && isOneItems(error)) for (const each of batch) await serve([each]);
      else for (const { reject } of batch) reject(error);
    }
  };
  const work = async (): Promise<void> => {
    while (waiting.length > 0) await serve(waiting.splice(0, maxItems));
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

/**
 * Statements of one transaction that need no answer of each other, sent together: a round trip costs more than they do.
 * They are sent in the order given only as long as all of them are queries that nobody has awaited: an `async` function
 * sends its own when it is called, before the others. Where the order of locks counts, pass queries.
 * Waits for all of them even when one fails: a statement that is sent after the ROLLBACK would stand on its own.
 * @throws the first failure, in the order given
 */
export async function allTogether<T extends readonly unknown[]>(
  work: {
    readonly [Key in keyof T]: Promise<T[Key]>;
  },
): Promise<T> {
  const results = await Promise.allSettled(work as readonly Promise<unknown>[]);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}
