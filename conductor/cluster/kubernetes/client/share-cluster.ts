import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';

/** Makes a path such as `/api/v1/nodes/n1` of its parts, each encoded. */
export function apiPath(base: string, ...names: readonly string[]): string {
  return [base, ...names.map((name) => encodeURIComponent(name))].join('/');
}

export const mergePatch = 'application/merge-patch+json';

/** Milliseconds for which connections are shared, so that a rotated credential is in use after them at the latest. */
const lifeMs = 20_000;
/** Milliseconds after which unused connections are closed; looks at thousands of nodes come one after another. */
const idleMs = 5_000;

interface Shared {
  readonly file: string | undefined;
  readonly opened: Promise<Cluster>;
  readonly since: number;
  users: number;
  idle?: NodeJS.Timeout;
}

/** The shared cluster of each conductor in this process. */
const current = new WeakMap<object, Shared>();

/**
 * Does work with the cluster of the kubeconfig file. Work at about the same time shares its connections, so that thousands
 * of nodes do not keep thousands of them.
 * @param owner of the connections; any object, compared by its identity alone
 * @throws AppError as `openCluster`, and what `work` throws
 */
export async function withSharedCluster<Result>(
  owner: object,
  file: string | undefined,
  work: (cluster: Cluster) => Promise<Result>,
): Promise<Result> {
  const shared = take(owner, file);
  try {
    return await work(await shared.opened);
  } catch (error) {
    // it may be the login that is no good any more
    if (current.get(owner) === shared) current.delete(owner);
    throw error;
  } finally {
    giveBack(owner, shared);
  }
}

function take(owner: object, file: string | undefined): Shared {
  const known = current.get(owner);
  const isFresh = known?.file === file && performance.now() - (known?.since ?? 0) < lifeMs;
  if (known && !isFresh) {
    current.delete(owner);
    if (known.users === 0) close(known);
  }
  const shared: Shared =
    known && isFresh ? known : { file, opened: openCluster(file), since: performance.now(), users: 0 };
  current.set(owner, shared);
  clearTimeout(shared.idle);
  shared.users += 1;
  return shared;
}

function giveBack(owner: object, shared: Shared): void {
  shared.users -= 1;
  if (shared.users > 0) return;
  if (current.get(owner) !== shared) {
    close(shared);
    return;
  }
  shared.idle = setTimeout(() => {
    if (current.get(owner) === shared) current.delete(owner);
    close(shared);
  }, idleMs).unref();
}

function close(shared: Shared): void {
  clearTimeout(shared.idle);
  // a cluster that could not be opened has been reported to those who waited for it
  shared.opened.then((cluster) => cluster.close()).catch(() => undefined);
}
