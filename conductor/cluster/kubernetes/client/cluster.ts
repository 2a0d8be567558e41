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
  /** Time by the server's clock, as the conductor's may be another; `undefined`: it has not said. */
  readonly serverTime: Date | undefined;
}

export type WatchChange =
  /** All that there is: at the start, and whenever something may have been missed. */
  | { readonly type: 'LISTED'; readonly items: readonly unknown[] }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: unknown };
