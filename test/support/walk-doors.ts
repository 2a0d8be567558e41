import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { type ApiDocument, doorsOf } from '#test/support/door-bodies.ts';

/** Roles of those who knock at the doors; the last may do everything, and deletes what there is. */
const callers = {
  nobody: undefined,
  reader: 'reader',
  member: 'member',
  'member of a project': 'member:team',
  'administrator of a project': 'admin:team',
  administrator: 'admin',
} as const;
type CallerName = keyof typeof callers;

const password = 'walks';
const userOf = (caller: CallerName): string => caller.replaceAll(' ', '-');

/** Settings of a conductor whose doors are walked through. @param directory for its file of users */
export async function doorSettings(directory: string): Promise<Record<string, string>> {
  const file = join(directory, 'htpasswd');
  const hash = hashSync(password, 4).replace('$2b$', '$2y$');
  const lines = (Object.keys(callers) as CallerName[]).flatMap((name) =>
    callers[name] === undefined ? [] : [`${userOf(name)}:${hash}:${callers[name]}`],
  );
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  return {
    BATON_AUTH: 'http_basic',
    BATON_HTPASSWD_FILE: file,
    BATON_DISCOVERY: 'true',
    BATON_PUBLIC_FAILURES_PER_SECOND: '10000',
  };
}

export interface Knock {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly caller: CallerName;
  readonly body: () => string;
  /** Words of the limit that refuses it, for who may send it. */
  readonly refusal?: string;
}

export interface Answer {
  /** 0: the connection was cut. */
  readonly status: number;
  readonly length: number;
  /** Its beginning. */
  readonly text: string;
}

const isTooLong = /^The body is larger than/;

/** Sends it, and takes of what is answered the beginning. */
export function knock(
  url: string,
  { method, path, caller, body }: Omit<Knock, 'name'>,
  onText: (text: string) => void = () => undefined,
): Promise<Answer> {
  const text = body();
  const role = callers[caller];
  const login = Buffer.from(`${userOf(caller)}:${password}`).toString('base64');
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, {
      method,
      agent: false,
      headers: {
        'X-OpenStack-Ironic-API-Version': '1.96',
        ...(text === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
        ...(role === undefined ? {} : { Authorization: `Basic ${login}` }),
      },
    });
    // who is refused before all has been sent is cut off, and may hear no answer
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve({ status: 0, length: 0, text: '' });
      else reject(error);
    });
    sent.on('response', (response) => {
      let [length, beginning] = [0, ''];
      const end = (): void => {
        resolve({ status: response.statusCode ?? 0, length, text: beginning });
        sent.destroy();
      };
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        onText(chunk.toString());
        if (beginning.length < 2_000) beginning += chunk.toString();
        if (response.headers['content-type'] === 'text/event-stream') end();
      });
      response.on('end', end);
      response.on('error', end);
    });
    sent.end(text);
  });
}

const inventory = (more: object): string =>
  JSON.stringify({
    inventory: {
      interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:77', ipv4_address: '192.0.2.77' }],
      memory: { physical_mb: 2048 },
      disks: [],
      ...more,
    },
  });
const rule = {
  description: 'large servers',
  conditions: [
    { op: 'contains', args: { value: '{inventory[system_vendor][product_name]}', regex: 'PowerEdge.*R640' } },
  ],
  actions: [{ op: 'set-attribute', args: { path: '/extra/large', value: 'yes' } }],
};

/** A node, and an operator's ordinary rule. */
export async function furnish(url: string): Promise<void> {
  const post = (path: string, body: object): Promise<Answer> =>
    knock(url, { method: 'POST', path, caller: 'administrator', body: () => JSON.stringify(body) });
  for (const [path, body] of [
    ['/v1/nodes', { driver: 'fake-hardware', name: 'n1' }],
    ['/v1/inspection_rules', rule],
  ] as const) {
    const { status, text } = await post(path, body);
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  }
}

/** The histories of all nodes: what has become of a rule that took too long stands in its node's. */
export async function readHistories(url: string): Promise<string> {
  const get = async (path: string): Promise<string> => {
    const texts: string[] = [];
    await knock(url, { method: 'GET', path, caller: 'administrator', body: () => '' }, (chunk) => texts.push(chunk));
    return texts.join('');
  };
  const { nodes } = JSON.parse(await get('/v1/nodes')) as { readonly nodes: readonly { readonly uuid: string }[] };
  const histories = [];
  for (const { uuid } of nodes) histories.push(await get(`/v1/nodes/${uuid}/history?detail=true`));
  return histories.join('\n');
}

export const ruleGivenUp = "the regular expression of rule 'large servers' takes longer than 2 s";

/** Every door with its largest bodies and with larger ones, in each role and none. */
export async function* knocksAt(url: string): AsyncGenerator<Knock> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  const report = { method: 'POST', path: '/v1/continue_inspection', caller: 'nobody' } as const;
  yield {
    ...report,
    name: 'an ordinary rule over a hostile name',
    body: () => inventory({ system_vendor: { product_name: 'PowerEdge '.repeat(30_000) } }),
  };
  const few = new Set(['nothing', 'as many objects', 'as many unknown fields', 'one value more']);
  for (const caller of Object.keys(callers) as CallerName[]) {
    for (const { method, path, bodies, tooMuch } of doorsOf(document)) {
      const isWhole = caller === 'administrator' || path === report.path;
      const named = (what: string) => ({ name: `${method} ${path} by ${caller}: ${what}`, method, path, caller });
      for (const [what, body] of Object.entries(bodies)) if (isWhole || few.has(what)) yield { ...named(what), body };
      if (method === 'GET')
        yield { ...named('a long query'), path: `${path}?${'key=1&'.repeat(2_000)}`, body: () => '' };
      const mayRefuse =
        caller === 'administrator' || /\/v1\/(heartbeat|progress|neighbours|continue_inspection)/.test(path);
      for (const [what, { body, refusal }] of Object.entries(tooMuch))
        if (isWhole || few.has(what)) yield { ...named(what), body, ...(mayRefuse ? { refusal } : {}) };
    }
  }
}

/** Steps on a cluster that is not there, which seed 001 answers as failed ones. */
const ofNoCluster = /NoKubernetesCluster/;

/** The fault of an answer that is not as it must be; `undefined` = there is none. */
export function faultOf({ refusal }: Knock, { status, length, text }: Answer): string | undefined {
  if (status >= 500 && !ofNoCluster.test(text)) return `${status}: ${text.slice(0, 300)}`;
  if (status >= 400 && length > 40_000) return `${status}: ${length} characters, ${text.slice(0, 300)}`;
  if (refusal === undefined || text.includes(refusal) || (status === 0 && isTooLong.test(refusal))) return undefined;
  return `${status}, which is not for ${JSON.stringify(refusal)}: ${text.slice(0, 300)}`;
}
