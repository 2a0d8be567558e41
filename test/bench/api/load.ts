import { Pool } from 'undici';

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
}

export interface LoadResult {
  readonly perSecond: number;
  /** One per request, in the order in which they ended. */
  readonly latenciesMs: readonly number[];
}

export interface LoadOptions {
  readonly url: string;
  /** Each waits for its answer before it asks again. */
  readonly connections: number;
  /** The n-th request; `undefined` ends the run. */
  readonly next: (index: number) => LoadRequest | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export const apiHeaders = { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' };

/**
 * Asks as fast as the answers come, over connections that are kept open. Takes little time of its own, for server and
 * database share the machine with it: answers are counted and thrown away unread.
 * @throws Error for the first answer that is not 2xx, with its text
 */
export async function load({ url, connections, next, headers = apiHeaders }: LoadOptions): Promise<LoadResult> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const latenciesMs: number[] = [];
  let asked = 0;
  const worker = async (): Promise<void> => {
    for (let request = next(asked); request; request = next(asked)) {
      asked += 1;
      const startedAt = performance.now();
      await ask(pool, request, headers);
      latenciesMs.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  try {
    await Promise.all(Array.from({ length: connections }, worker));
  } finally {
    await pool.destroy();
  }
  return { perSecond: latenciesMs.length / ((performance.now() - startedAt) / 1000), latenciesMs };
}

/** For a time instead of a number. */
export function forSeconds(
  seconds: number,
  request: (index: number) => LoadRequest,
): (index: number) => LoadRequest | undefined {
  const endsAt = performance.now() + seconds * 1000;
  return (index) => (performance.now() < endsAt ? request(index) : undefined);
}

function ask(pool: Pool, request: LoadRequest, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const wrong: Buffer[] = [];
    pool.dispatch(
      { method: request.method, path: request.path, headers, body: request.body ?? null },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, statusCode) => {
          status = statusCode;
        },
        onResponseData: (_controller, chunk) => {
          if (status >= 300) wrong.push(chunk);
        },
        onResponseEnd: () => {
          if (status < 300) resolve();
          else
            reject(
              new Error(`${request.method} ${request.path} answered ${status}: ${Buffer.concat(wrong).toString()}`),
            );
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}
