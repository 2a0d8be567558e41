import { Client } from 'pg';

/** Where one server of several listens. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

const hostsPart = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s;
const readWrite = /[?&]target_session_attrs=(?:read-write|primary)(?:&|$)/;

/** The servers that a `postgres://` URL names, in its order; none or one without names that are separated by commas. Pure. */
export function hostsOf(url: string): Host[] {
  const [, , hosts = ''] = hostsPart.exec(url) ?? [];
  return hosts.split(',').flatMap((each) => {
    const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(each) ?? [];
    return host === ''
      ? []
      : [{ host: decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1')), port: Number(port ?? 5432) }];
  });
}

/** Whether it is clear which server takes writes: of several that must be asked. Pure. */
export function namesPrimary(url: string): boolean {
  if (/[?&]host=[^&]*(,|%2c)/i.test(url)) return false;
  const [, , hosts = ''] = hostsPart.exec(url) ?? [];
  return !hosts.includes(',') || (hostsOf(url).length === hosts.split(',').length && readWrite.test(url));
}

/** The URL with the first host only, and without what pg does not know. Pure. */
function firstOf(url: string): string {
  const [, before = '', hosts = '', rest = ''] = hostsPart.exec(url) ?? [];
  const [path = '', query = ''] = rest.split('?', 2);
  const kept = query.split('&').filter((each) => each !== '' && !each.startsWith('target_session_attrs='));
  return `${before}${hosts.split(',')[0] ?? ''}${path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`;
}

/** A server that says nothing for so long is not the one. */
const probeMs = 3_000;

/** One server, or that of several which takes writes; each new connection asks again. */
export interface Server {
  /** For a client of pg's. */
  readonly connectionString: string;
  /**
   * The primary; `undefined` with one host.
   * @throws Error when none of them is it
   */
  find(): Promise<Host | undefined>;
}

const servers = new Map<string, Server>();

/** All who ask at once share an answer. */
export function serverOf(url: string): Server {
  const hosts = hostsOf(url);
  if (hosts.length < 2) return { connectionString: url, find: () => Promise.resolve(undefined) };
  const known = servers.get(url);
  if (known) return known;
  const connectionString = firstOf(url);
  const state: { asking?: Promise<Host> | undefined } = {};
  const ask = (): Promise<Host> =>
    Promise.any(hosts.map((host) => probe(connectionString, host))).catch((error: AggregateError) => {
      const causes = hosts.map(({ host, port }, index) => `${host}:${port}: ${String(error.errors[index])}`);
      throw Object.assign(new Error(`no server takes writes (${causes.join('; ')})`), { code: 'ECONNREFUSED' });
    });
  const server: Server = {
    connectionString,
    find: () => {
      state.asking ??= ask().finally(() => {
        state.asking = undefined;
      });
      return state.asking;
    },
  };
  servers.set(url, server);
  return server;
}

/** To be called before a client connects. */
export async function aim(client: Client, server: Server): Promise<void> {
  const found = await server.find();
  if (found) Object.assign(client, found);
}

async function probe(connectionString: string, host: Host): Promise<Host> {
  const client = new Client({ connectionString, connectionTimeoutMillis: probeMs, query_timeout: probeMs });
  client.on('error', () => undefined);
  Object.assign(client, host);
  try {
    await client.connect();
    const { rows } = await client.query<{ writes: boolean }>(
      "select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off' as writes",
    );
    if (rows[0]?.writes !== true) throw new Error('a standby, or read-only');
    return host;
  } finally {
    client.end().catch(() => undefined);
  }
}
