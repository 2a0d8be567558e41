/** Locks that all conductors of a database share. */
export interface Locks {
  lock(name: string): { take(): Promise<boolean>; release(): Promise<void> };
}

/**
 * Does the work unless somebody, here or in another conductor, does so for the same cluster: two removals that were
 * decided on the same look would together take what neither may.
 * @returns `undefined` when somebody does
 */
export async function aloneWithCluster<Result>(
  database: Locks,
  cluster: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const lock = database.lock(`etcd cluster ${cluster}`);
  try {
    return (await lock.take()) ? await work() : undefined;
  } finally {
    await lock.release();
  }
}
