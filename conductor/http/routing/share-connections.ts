import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { sourceKey } from '#conductor/auth/failure-limit.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import type { Log } from '#shared/log.ts';

export interface ConnectionLimits {
  /** Open at once, on all ports together. */
  readonly all: number;
  /** Connections of one address: a load balancer or a relay has all its clients' connections. */
  readonly ofAddress: number;
}

/** Connections of the API's ports, which no address takes from the others. */
export interface ConnectionShares {
  /** Looks after all connections that the server accepts from now on. */
  watch(server: Server): void;
  /** Why clients were turned away a moment ago; `undefined` = none were. */
  trouble(): string | undefined;
}

/** Ten thousand agents, and as many consoles, clients and machines that boot. */
const mostConnections = 20_000;
/** Descriptors for the database, calls to BMCs and agents, files and programs. */
const reserved = { least: 128, most: 4_096 } as const;
/** Fewer file descriptors than these are too few for a fleet of some hundred nodes. */
const wantedDescriptors = 4_096;

/** Computes the limits that follow from so many file descriptors. */
export function connectionLimits(descriptors = Infinity): ConnectionLimits {
  const reserve = Math.min(reserved.most, Math.max(reserved.least, descriptors / 4));
  const all = Math.max(16, Math.min(mostConnections, Math.floor(descriptors - reserve)));
  return { all, ofAddress: Math.floor(all / 2) };
}

/**
 * Reads the file descriptors that this process may have (`ulimit -n`); `undefined` where the system does not say, or without
 * limit.
 */
export async function readDescriptorLimit(file = '/proc/self/limits'): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const [, limit] = /^Max open files +(\d+)/m.exec(text) ?? [];
  return limit === undefined ? undefined : Number(limit);
}

export function descriptorWarning(descriptors: number | undefined): string | undefined {
  if (descriptors === undefined || descriptors >= wantedDescriptors) return undefined;
  const { all } = connectionLimits(descriptors);
  return (
    `this process may have ${descriptors} file descriptors, which leaves ${all} connections: ` +
    'raise LimitNOFILE= of the unit, --ulimit nofile= of the container, or ulimit -n to 65536'
  );
}

const minuteMs = 60_000;

interface Connection {
  readonly socket: Socket;
  readonly source: string;
  /** Key of its addresses, which a closed socket has forgotten. */
  readonly key: string;
  /** Requests under way, and an upgrade to a WebSocket. */
  busy: number;
}

/**
 * Keeps connections within limits. When they run short, those without a request are closed first: of the address
 * that has too many, or of the one that has most, beginning with the longest unused.
 */
export function shareConnections(
  { all, ofAddress }: ConnectionLimits,
  { log, metrics }: { readonly log: Log; readonly metrics: Pick<Metrics, 'connectionsCut'> },
): ConnectionShares {
  const open = new Map<string, Map<string, Connection>>();
  const state = { count: 0, cut: 0, refused: 0, loggedAt: -Infinity, troubleAt: -Infinity };
  const find = (socket: Socket): Connection | undefined => open.get(addressOf(socket))?.get(connectionKey(socket));
  const largest = (): string => {
    let [found, most] = ['', 0];
    for (const [source, { size }] of open) if (size > most) [found, most] = [source, size];
    return found;
  };
  const forget = (connection: Connection): void => {
    const { source, key } = connection;
    const ofSource = open.get(source);
    if (ofSource?.get(key) !== connection) return;
    ofSource.delete(key);
    if (ofSource.size === 0) open.delete(source);
    state.count -= 1;
  };
  const report = (kind: 'cut' | 'refused', source: string): void => {
    metrics.connectionsCut.inc({ kind: kind === 'cut' ? 'idle' : 'new' });
    const now = performance.now();
    Object.assign(state, { [kind]: state[kind] + 1, troubleAt: now });
    if (now - state.loggedAt < minuteMs) return;
    const { cut, refused, count } = state;
    log.warn({ address: source, idleClosed: cut, refused, open: count, most: all }, 'connections run short');
    Object.assign(state, { loggedAt: now, cut: 0, refused: 0 });
  };
  /** @returns whether one of them was closed */
  const closeIdle = (source: string, newest: Connection): boolean => {
    for (const connection of open.get(source)?.values() ?? []) {
      if (connection.busy > 0 || connection === newest) continue;
      forget(connection);
      connection.socket.destroy();
      report('cut', source);
      return true;
    }
    return false;
  };
  const accept = (socket: Socket): void => {
    const connection: Connection = { socket, source: addressOf(socket), key: connectionKey(socket), busy: 0 };
    const { source, key } = connection;
    const ofSource = open.get(source) ?? new Map<string, Connection>();
    open.set(source, ofSource.set(key, connection));
    state.count += 1;
    socket.once('close', () => forget(connection));
    const isOverShare = ofSource.size > ofAddress;
    if (!isOverShare && state.count <= all) return;
    if (closeIdle(isOverShare ? source : largest(), connection)) return;
    forget(connection);
    socket.destroy();
    report('refused', source);
  };
  return {
    watch: (server) => {
      // above our own limit, which closes what it does not want at once
      server.maxConnections = all + reserved.least / 2;
      server.on('drop', (data) => report('refused', sourceKey(data?.remoteAddress)));
      server.on('connection', accept);
      server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        const connection = find(request.socket);
        if (!connection) return;
        connection.busy += 1;
        response.once('close', () => {
          connection.busy -= 1;
          // used a moment ago: it goes to the end
          const ofSource = open.get(connection.source);
          if (ofSource?.delete(connection.key) === true) ofSource.set(connection.key, connection);
        });
      });
      server.prependListener('upgrade', (request: IncomingMessage) => {
        const connection = find(request.socket);
        if (connection) connection.busy += 1;
      });
    },
    trouble: () =>
      performance.now() - state.troubleAt > minuteMs
        ? undefined
        : `connections run short: ${state.count} of ${all} are open; the log says whose`,
  };
}

function addressOf(socket: Socket): string {
  return sourceKey(socket.remoteAddress);
}

/** Returns the key of a connection, for which TLS has a socket of its own. */
export function connectionKey(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`;
}
