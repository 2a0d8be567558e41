import { Client } from 'pg';
import { firstOf, type Host, hostsOf } from '#conductor/kernel/db/session/database-url.ts';

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

/** Points a client at a server, before it connects. */
export async function pointAtServer(client: Client, server: Server): Promise<void> {
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
