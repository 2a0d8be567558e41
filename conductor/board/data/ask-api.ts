/** The API, asked as the session that the browser keeps in a cookie, out of reach of scripts. */

const pageSize = 1000;
const timeoutMs = 20_000;
/** Newest one that the board needs: aborts in 'wait call-back' are there since. */
const microversion = '1.110';

export class LoginNeeded extends Error {}

/** The conductor has not answered at all, or not in time. */
export class NoAnswer extends Error {
  constructor(options: ErrorOptions) {
    super('the conductor does not answer', options);
  }
}

/** Refusal, with the API's reason. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
  }
}

export interface ApiRequest {
  readonly method: string;
  /** Relative to the page. */
  readonly path: string;
  readonly body?: unknown;
}

export async function get<Answer>(path: string): Promise<Answer> {
  return (await (await send({ method: 'GET', path })).json()) as Answer;
}

/** `undefined` for what there is not (404). */
export async function find<Answer>(path: string): Promise<Answer | undefined> {
  const answer = await ask({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  await requireDone(answer);
  return (await answer.json()) as Answer;
}

/** All of a list. @param onPage gets each page as it comes */
export async function getAll<Item extends { readonly uuid: string }>(
  path: string,
  name: string,
  onPage: (page: readonly Item[]) => void = () => undefined,
): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const marker = items.at(-1)?.uuid;
    const query = `${path.includes('?') ? '&' : '?'}limit=${pageSize}${marker === undefined ? '' : `&marker=${marker}`}`;
    const page = (await get<Record<string, Item[]>>(`${path}${query}`))[name] ?? [];
    items.push(...page);
    onPage(page);
    if (page.length < pageSize) return items;
  }
}

/** @throws LoginNeeded, Refused, NoAnswer */
export async function send(request: ApiRequest, authorization?: string): Promise<Response> {
  const answer = await ask(request, authorization);
  await requireDone(answer);
  return answer;
}

/** The same for a shell. Pure. */
export function asCurl({ method, path, body }: ApiRequest, origin: string): string {
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
  const version = `-H 'X-OpenStack-Ironic-API-Version: ${microversion}'`;
  return `curl -X ${method} -H "Authorization: Bearer $TOKEN" ${version}${data} ${quoted(`${origin}/${path}`)}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** @throws NoAnswer, for browsers say `Failed to fetch` of all that can go wrong on the way */
function ask({ method, path, body }: ApiRequest, authorization?: string): Promise<Response> {
  return fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      'x-openstack-ironic-api-version': microversion,
      'x-baton-board': '1',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(authorization === undefined ? {} : { authorization }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    credentials: 'same-origin',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: unknown) => {
    throw new NoAnswer({ cause });
  });
}

async function requireDone(answer: Response): Promise<void> {
  if (answer.ok) return;
  const reason = faultOf(await answer.text());
  if (answer.status === 401) throw new LoginNeeded(reason ?? 'the conductor asks who you are');
  throw new Refused(answer.status, reason ?? `${new URL(answer.url).pathname} was answered with ${answer.status}`);
}

/** Ironic's faults are JSON in JSON. */
function faultOf(text: string): string | undefined {
  try {
    const { error_message: message } = JSON.parse(text) as { error_message?: unknown };
    const fault = (typeof message === 'string' ? JSON.parse(message) : message) as
      | { faultstring?: unknown }
      | undefined;
    return typeof fault?.faultstring === 'string' ? fault.faultstring : undefined;
  } catch {
    return undefined;
  }
}
