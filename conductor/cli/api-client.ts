import { readFault } from '#conductor/cli/read-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type Json = Record<string, unknown>;

export interface Download {
  readonly content: Uint8Array;
  /** What the server calls it. */
  readonly fileName: string;
}

export interface ApiClient {
  /** `undefined` for 404 on GET; `{}` for an empty answer. @throws AppError with the server's own words. */
  call(method: string, path: string, body?: unknown): Promise<Json | undefined>;
  /** What is no JSON. @throws AppError with the server's own words. */
  download(path: string): Promise<Download>;
}

const microversion = '1.96';

/** Ironic's API at `url`, for the command line. */
export function createApiClient(url: string): ApiClient {
  const base = url.replace(/\/+$/, '');
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${base}${path}`, {
      method,
      headers: { 'X-OpenStack-Ironic-API-Version': microversion, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new AppError('unavailable', `reach the conductor at ${url} (BATON_URL)`, { cause });
    });
  return {
    call: async (method, path, body) => {
      const answer = await send(method, path, body);
      if (answer.status === 404 && method === 'GET') return undefined;
      const text = await answer.text();
      if (!answer.ok) throw refusal(answer.status, text);
      return text === '' ? {} : parseAnswer(text, url);
    },
    download: async (path) => {
      const answer = await send('GET', path);
      if (!answer.ok) throw refusal(answer.status, await answer.text());
      const fileName = /filename="([\w.-]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
      return { content: new Uint8Array(await answer.arrayBuffer()), fileName: fileName ?? 'download' };
    },
  };
}

function parseAnswer(text: string, url: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new AppError('unavailable', `read what ${url} (BATON_URL) answers: is it a conductor?`, { cause });
  }
}

function refusal(status: number, text: string): AppError {
  return new AppError(status >= 500 ? 'unavailable' : 'invalid_argument', readFault(text) ?? `${status}: ${text}`);
}
