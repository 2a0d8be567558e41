import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import type { WatchChange } from '#conductor/cluster/kubernetes/client/watch.ts';

/** Calls that rounds need of a Kubernetes API server; `open-cluster.ts` makes them, tests may give their own. */
export interface Cluster {
  /** `https://192.0.2.10:6443`, for messages. */
  readonly server: string;
  /**
   * One request, with a time limit of its own.
   * @param path `/api/v1/nodes/n1`; names in it are encoded by the caller (`apiPath`)
   * @throws AppError `not_found` (the object that a 404 names, `isAbsent`), `conflict`, `busy` (429), `unavailable` (no answer, 5xx, or a 404 of something else), `forbidden` (401, 403),
   * `invalid_argument`; with the server's message. `details.status` is the HTTP status, `details.causes` what the server
   * gave as causes.
   */
  request(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, options?: RequestOptions): Promise<Reply>;
  /**
   * Calls back for each change of what the path lists, from now on and until the signal fires; at the start and when the
   * connection is lost, too, since something may have been missed. Never throws: anyone who watches looks from time to time
   * anyway.
   */
  watch(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    changed: (change: WatchChange) => void,
    /** Nothing is heard from now on, until it is listed again. */
    lost?: () => void,
  ): void;
  close(): Promise<void>;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, below the cluster's own limit for a request. */
  readonly timeoutMs?: number;
}

export interface Reply {
  readonly body: unknown;
  /** By the server's clock, the conductor's may be another; `undefined`: it has not said. */
  readonly serverTime: Date | undefined;
}

/** `/api/v1/nodes/n1` of its parts, each encoded. */
export function apiPath(base: string, ...names: readonly string[]): string {
  return [base, ...names.map((name) => encodeURIComponent(name))].join('/');
}

export const mergePatch = 'application/merge-patch+json';

/** A rotated credential is used after so long at the latest. */
const lifeMs = 20_000;
/** Looks at thousands of nodes come one after another; a cluster that nobody looks at for so long is let go. */
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
 * Work with the cluster of the kubeconfig file, over connections that all who look at it at about the same time share:
 * thousands of nodes keep no thousands of connections.
 * @param owner whose connections they are; its identity counts alone
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
