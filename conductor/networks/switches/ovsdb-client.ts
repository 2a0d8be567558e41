import { connect, type Socket } from 'node:net';
import { createJsonObjectSplitter } from '#conductor/networks/switches/json-objects.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Options for `net.connect`. */
type OvsdbEndpoint = { readonly path: string } | { readonly host: string; readonly port: number };

const forms = 'unix:/run/openvswitch/db.sock, tcp:192.0.2.1:6640 or tcp:[2001:db8::1]:6640';

/** @throws AppError `invalid_argument` naming the right forms; `not_supported` for `ssl:`. */
export function parseOvsdbEndpoint(endpoint: string): OvsdbEndpoint {
  const unix = /^unix:(\/.+)$/.exec(endpoint);
  if (unix?.[1] !== undefined) return { path: unix[1] };
  const tcp = /^tcp:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(endpoint);
  const host = tcp?.[1] ?? tcp?.[2];
  const port = Number(tcp?.[3]);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  if (endpoint.startsWith('ssl:')) {
    throw new AppError('not_supported', `switch endpoint ${endpoint}: ssl is not supported; use ${forms}`);
  }
  throw new AppError('invalid_argument', `switch endpoint ${endpoint} is not of the form ${forms}`);
}

/** A client of the Open vSwitch database protocol (RFC 7047): `transact` over a unix socket or TCP. */

/** An operation as RFC 7047 §5.2 writes it: `{op: 'select', table: 'Port', where: […]}`. */
export type OvsdbOperation = { readonly op: string; readonly table?: string } & Readonly<Record<string, unknown>>;

interface OvsdbCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for connecting and the answer; default 10,000. */
  readonly timeoutMs?: number;
}

export interface OvsdbClient {
  /**
   * Runs the operations in one transaction, all or none, and answers one result for each: `{rows}`, `{count}`, `{}`.
   * Connects when there is no connection.
   * @throws AppError `switch_error` naming the refused operation, `timeout` (also when a `wait` operation's condition
   * did not come; after it or a lost connection the transaction may or may not have been done), `unavailable` when the
   * server can't be reached or hangs up, `aborted`.
   */
  transact(
    database: string,
    operations: readonly OvsdbOperation[],
    options?: OvsdbCallOptions,
  ): Promise<Record<string, unknown>[]>;
  /** Hangs up; calls under way fail as `aborted`. A later call would connect again. */
  close(): void;
}

/** @throws AppError `invalid_argument` for a bad endpoint; nothing is connected yet. */
export function createOvsdbClient(endpoint: string): OvsdbClient {
  const target = parseOvsdbEndpoint(endpoint);
  let connection: OvsdbConnection | undefined;
  return {
    async transact(database, operations, options = {}) {
      if (connection === undefined || connection.isClosed()) connection = openConnection(target, endpoint);
      const result = await connection.call('transact', [database, ...operations], options);
      return checkResults(operations, result, endpoint);
    },
    close() {
      connection?.close(new AppError('aborted', `the connection to OVSDB server ${endpoint} was closed`));
      connection = undefined;
    },
  };
}

interface OvsdbConnection {
  call(method: string, params: readonly unknown[], options: OvsdbCallOptions): Promise<unknown>;
  close(reason: AppError): void;
  isClosed(): boolean;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: AppError): void;
}

/**
 * Limit of our questions, and of echoes, which a server may ask for without end and never read; a transaction has some
 * KiB.
 */
const maximumUnsentBytes = 4 * 1024 * 1024;

function openConnection(target: OvsdbEndpoint, endpoint: string): OvsdbConnection {
  const pending = new Map<number, PendingCall>();
  const splitter = createJsonObjectSplitter();
  let nextId = 1;
  let closed = false;
  const socket = connect(target);
  const send = (message: unknown): void => {
    // written before the connection stands, it is kept until it does
    if (!closed) socket.write(JSON.stringify(message));
    if (socket.writableLength > maximumUnsentBytes)
      close(new AppError('switch_error', `OVSDB server ${endpoint} reads nothing of what it asks for`));
  };
  const close = (reason: AppError): void => {
    closed = true;
    socket.destroy();
    for (const call of pending.values()) call.reject(reason);
    pending.clear();
  };
  listen(socket, endpoint, close, (chunk) => {
    for (const message of splitter.push(chunk)) receive(message, pending, send);
  });
  return {
    call: (method, params, { signal, timeoutMs = 10_000 }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(new AppError('aborted', `OVSDB ${method} was stopped`, { cause: signal.reason }));
          return;
        }
        const id = nextId++;
        // a server that stays silent is not asked again on this connection: the next call makes a new one
        const timer = setTimeout(
          () => close(new AppError('timeout', `OVSDB server ${endpoint} did not answer ${method} in ${timeoutMs} ms`)),
          timeoutMs,
        );
        const onAbort = (): void => {
          send({ method: 'cancel', params: [id], id: null });
          settle();
          reject(new AppError('aborted', `OVSDB ${method} was stopped`, { cause: signal?.reason }));
        };
        const settle = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          pending.delete(id);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        pending.set(id, {
          resolve: (result) => {
            settle();
            resolve(result);
          },
          reject: (error) => {
            settle();
            reject(error);
          },
        });
        send({ method, params, id });
      }),
    close,
    isClosed: () => closed,
  };
}

function listen(
  socket: Socket,
  endpoint: string,
  close: (reason: AppError) => void,
  onBytes: (chunk: Buffer) => void,
): void {
  let connected = false;
  socket.once('connect', () => {
    connected = true;
  });
  socket.on('data', (chunk: Buffer) => {
    try {
      onBytes(chunk);
    } catch (cause) {
      close(new AppError('switch_error', `the answer of OVSDB server ${endpoint} could not be read`, { cause }));
    }
  });
  socket.on('error', (cause) => {
    const what = connected ? 'was lost' : 'could not be made';
    close(new AppError('unavailable', `the connection to OVSDB server ${endpoint} ${what}`, { cause }));
  });
  socket.on('close', () => close(new AppError('unavailable', `OVSDB server ${endpoint} hung up`)));
}

function receive(message: unknown, pending: ReadonlyMap<number, PendingCall>, send: (message: unknown) => void): void {
  if (!isRecord(message)) return;
  if (typeof message['method'] === 'string') {
    // the server's keep-alive: unanswered it hangs up. Notifications (id null) carry nothing that is asked for here
    if (message['method'] === 'echo' && message['id'] !== null && message['id'] !== undefined) {
      send({ result: message['params'], error: null, id: message['id'] });
    }
    return;
  }
  const call = pending.get(message['id'] as number);
  if (call === undefined) return; // an answer to a call that was given up
  const error = message['error'];
  if (error === null || error === undefined) call.resolve(message['result']);
  else call.reject(new AppError('switch_error', `OVSDB server refused the request: ${describeError(error)}`));
}

/**
 * Finds errors among the results: one element per operation, `null` after a failed one, and one more element than
 * operations when the commit itself failed, say by a broken constraint (RFC 7047 §4.1.3).
 */
function checkResults(
  operations: readonly OvsdbOperation[],
  results: unknown,
  endpoint: string,
): Record<string, unknown>[] {
  if (!Array.isArray(results)) {
    throw new AppError(
      'switch_error',
      `OVSDB server ${endpoint} answered a transaction with something else than a list`,
    );
  }
  for (const [index, result] of (results as unknown[]).entries()) {
    if (!isRecord(result) || typeof result['error'] !== 'string') continue;
    const operation = operations[index];
    const where =
      operation === undefined
        ? 'at the commit'
        : `at operation ${index + 1} of ${operations.length} (${[operation.op, operation.table].filter(Boolean).join(' ')})`;
    // only a wait operation times out by an error; its transaction has not been done
    const timedOut = operation?.op === 'wait' && result['error'] === 'timed out';
    throw new AppError(
      timedOut ? 'timeout' : 'switch_error',
      `OVSDB server ${endpoint} refused the transaction ${where}: ${describeError(result)}`,
      { details: { operation: index } },
    );
  }
  const answered = results.filter(isRecord);
  if (answered.length !== operations.length) {
    throw new AppError(
      'switch_error',
      `OVSDB server ${endpoint} answered ${operations.length} operations with ${answered.length} results`,
    );
  }
  return answered;
}

/** The part of an error that a person reads. */
const maximumErrorCharacters = 500;

function describeError(error: unknown): string {
  const parts = isRecord(error) ? [error['error'], error['details']] : [error];
  const texts = parts.map((part) => (typeof part === 'string' ? part : isRecord(error) ? '' : JSON.stringify(part)));
  return texts.filter(Boolean).join(': ').slice(0, maximumErrorCharacters);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
