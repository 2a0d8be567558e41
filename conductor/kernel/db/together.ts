/**
 * Statements of one transaction that need no answer of each other, sent together: a round trip costs more than they do.
 * They are sent in the order given only as long as all of them are queries that nobody has awaited: an `async` function
 * sends its own when it is called, before the others. Where the order of locks counts, pass queries.
 * Waits for all of them even when one fails: a statement that is sent after the ROLLBACK would stand on its own.
 * @throws the first failure, in the order given
 */
export async function together<T extends readonly unknown[]>(
  work: {
    readonly [Key in keyof T]: Promise<T[Key]>;
  },
): Promise<T> {
  const results = await Promise.allSettled(work as readonly Promise<unknown>[]);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}
