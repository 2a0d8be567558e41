import type { Writable } from 'node:stream';
import { drizzle, NodePgDatabase, NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import {
  Client,
  type ClientBase,
  type ClientConfig,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  types,
} from 'pg';
import type { Mark } from '#conductor/kernel/db/answered.ts';
import { ArrayQuery } from '#conductor/kernel/db/query/array-query.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { JoinedQuery, joinStatements } from '#conductor/kernel/db/query/joined-query.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/query/queryable.ts';
import { columnCasing, pgDialect, type Send, sendBy } from '#conductor/kernel/db/query/statement.ts';
import { pointAtServer, type Server, serverOf } from '#conductor/kernel/db/session/hosts.ts';
import { collectRows, keepAliveInitialDelayMillis, writeRows } from '#conductor/kernel/db/session/session.ts';
import { markText } from '#conductor/kernel/db/timeline.ts';
import { AppError } from '#shared/errors/app-error.ts';

const connectMs = 10_000;
/**
 * Milliseconds after which the server ends a session that rests in a transaction, and keeps rows locked (a paused machine).
 * Our transactions last milliseconds.
 */
const idleInTransactionMs = 5_000;
/** Milliseconds after which the server ends a statement: ten that wait for a lock would take the whole pool. */
const statementMs = 30_000;

/** Most statements with a name, whose plans PostgreSQL keeps; further statements are planned each time. */
const maxPrepared = 2_000;

export interface PoolOptions {
  /** Milliseconds; a server that says nothing for so long is gone, and its connection is given up. */
  readonly answerMs: number;
  /** Sees every error that a statement ends with. */
  readonly onError?: (error: unknown) => void;
  /** Looks at each new connection to a server that may be followed by another; one for which it throws is not used. */
  readonly look?: (query: (text: string, values?: readonly string[]) => Promise<QueryResult>) => Promise<void>;
  /** Hears what a transaction that was answered says of itself (`markText`). */
  readonly onAnswered?: (mark: Mark) => void;
}

/**
 * Work on one connection without a transaction: statements that are sent together are run one after the other, as sent,
 * each with what those before it have committed.
 */
export type InOrder = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;

/** Connections to one database, and drizzle over them. */
export interface Connections {
  readonly db: Queryable;
  readonly inOrder: InOrder;
  close(): Promise<void>;
}

/**
 * Opens a pool of ten connections. Statements are sent without waiting for the answer of the one before (`allTogether`), and
 * each belongs to the connection that its transaction has taken: when that is lost, all that follow in it are refused.
 */
export function openConnections(url: string, options: PoolOptions): Connections {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= maxPrepared) return known;
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  };
  const server = serverOf(url);
  const PreparingClient = preparingClient(nameOf, server, options);
  const pool = new Pool({
    connectionString: server.connectionString,
    max: 10,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis,
    idleTimeoutMillis: 0,
    query_timeout: options.answerMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    // machine code, which PostgreSQL makes for each large statement, takes longer than any of ours
    options: '-c random_page_cost=1.1 -c jit=off',
    // as the pool makes them: with its own options
    Client: PreparingClient as unknown as new () => ClientBase,
  });
  pool.on('error', () => undefined); // an idle connection was cut: the next statement opens another
  // no `schema`: with it every transaction makes an object for each table, which nobody reads
  const db = Object.assign(drizzle(pool, { casing: columnCasing }), {
    transaction: transactionsOf(pool, nameOf, options.onAnswered),
  });
  return {
    db: sendBy(db, senderOn(pool)),
    inOrder: inOrderOn(pool),
    close: () => pool.end(),
  };
}

/** pg's methods, as pool and drizzle call them: with a callback or for a promise. */
type Callback = (error: unknown, result?: unknown) => void;
type Query = (config: unknown, values?: unknown, callback?: Callback) => Promise<unknown> | undefined;
type Connect = (callback?: Callback) => Promise<unknown> | undefined;

/** Makes pg's client with named statements, and with errors that show whether the connection was lost. */
function preparingClient(nameOf: NameOf, server: Server, { onError, look }: PoolOptions) {
  const failed = (error: unknown): unknown => {
    const known = withCode(error);
    onError?.(known);
    return known;
  };
  const after =
    (callback: Callback): Callback =>
    (error, result) =>
      callback(error ? failed(error) : error, result);
  const rethrow = (error: unknown): never => {
    throw failed(error);
  };
  return class extends Client {
    constructor(config: ClientConfig) {
      // the pool's own limit would also end the wait for a connection that is free
      super({ ...config, connectionTimeoutMillis: connectMs });
      // cut while it is taken and no statement runs: the next one on it fails, while an error that nobody hears ends the process
      this.on('error', () => undefined);
      const query = super.query.bind(this) as Query;
      const connect = super.connect.bind(this) as () => Promise<unknown>;
      const connectWell = async (): Promise<void> => {
        await pointAtServer(this, server);
        await connect();
        try {
          await look?.((text, values) => query({ text, values: [...(values ?? [])] }) as Promise<QueryResult>);
        } catch (error) {
          this.end().catch(ignore);
          throw error;
        }
      };
      Object.assign(this, {
        query: ((config, values, callback) => {
          writeAtOnce(this);
          const prepared = config instanceof JoinedQuery ? config : prepare(config, values, nameOf);
          if (callback) return query(prepared, values, after(callback));
          if (!(prepared instanceof ArrayQuery || prepared instanceof JoinedQuery))
            return query(prepared, values)?.catch(rethrow);
          return new Promise((resolve, reject) => {
            void query(prepared, undefined, (error, result) => (error ? reject(failed(error)) : resolve(result)));
          });
        }) satisfies Query,
        connect: ((callback) => {
          const connected = connectWell();
          if (!callback) return connected.catch(rethrow);
          connected.then(() => after(callback)(null), after(callback));
          return undefined;
        }) satisfies Connect,
      });
    }

    /** The pool hears of a cut connection before the statement does, and rejects with what it heard. */
    override emit(event: string | symbol, ...given: unknown[]): boolean {
      return super.emit(event, ...(event === 'error' ? given.map(withCode) : given));
    }
  };
}

/**
 * Sends all that one turn of the event loop has for the server in one write: each write costs as much as the statement
 * itself.
 */
function writeAtOnce(client: Client): void {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Writable } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function prepare(config: unknown, values: unknown, nameOf: NameOf): unknown {
  if (typeof config !== 'object' || config === null || !('text' in config) || typeof config.text !== 'string')
    return config;
  const typed = { ...config, types: parsers };
  if ('name' in config && config.name !== undefined) return new ArrayQuery(typed as QueryConfig);
  const given = values ?? ('values' in config ? config.values : undefined);
  if (!Array.isArray(given) || given.length === 0) return typed;
  return { ...typed, name: nameOf(config.text) };
}

type NameOf = (text: string) => string | undefined;
type TypeId = (typeof types.builtins)[keyof typeof types.builtins];
type Parser = (value: string) => unknown;
const asText: Parser = (value) => value;
const known = new Map<TypeId, Parser>(
  [types.builtins.TIMESTAMPTZ, types.builtins.TIMESTAMP, types.builtins.DATE, types.builtins.INTERVAL].map((type) => [
    type,
    asText,
  ]),
);
/**
 * Parsers that leave values as drizzle wants them, which reads times itself; it would make ten functions for every
 * statement that it sends.
 */
const parsers = {
  getTypeParser: (type: TypeId): Parser => {
    const parser = known.get(type) ?? (types.getTypeParser(type) as Parser);
    known.set(type, parser);
    return parser;
  },
};

/** pg's words for a connection that is not there; its other errors are the server's, with a SQLSTATE, or bugs. */
const lostConnection =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired)/;

/** Errors of sockets have the same codes whatever was lost: those of the database get one of its own. */
function withCode(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isLost = 'code' in error ? /^E[A-Z]+$/.test(String(error.code)) : lostConnection.test(error.message);
  if (!isLost) return error;
  return Object.assign(new Error('the connection to the database was lost', { cause: error }), {
    code: 'CONNECTION_LOST',
  });
}

type Marked = Omit<Mark, 'xid'> & { readonly xid: string | null };
type Work = (tx: Transaction) => Promise<unknown>;
type NoTables = Record<string, never>;

function senderOn(client: { readonly query: (query: never) => unknown }): Send {
  return (query) => client.query(query as never) as ReturnType<Send>;
}

function inOrderOn(pool: Pool): InOrder {
  return async (work) => {
    const client = await pool.connect();
    client.on('error', ignore); // a connection may be lost between two statements: the next one is refused
    try {
      const session = new NodePgSession<NoTables, NoTables>(client, pgDialect, undefined);
      return await work(sendBy(new NodePgDatabase(pgDialect, session, undefined), senderOn(client)));
    } finally {
      client.off('error', ignore);
      client.release();
    }
  };
}

/**
 * Makes `db.transaction` with a connection that goes back to the pool however it ends: drizzle's own keeps it for ever when
 * `begin` fails, answers the failure of `rollback` in place of what went wrong, and reports success when a failed statement
 * was ignored. What is sent when the transaction has ended is refused: it would stand on its own.
 */
function transactionsOf(pool: Pool, nameOf: NameOf, onAnswered: PoolOptions['onAnswered']): Queryable['transaction'] {
  const transaction = async (work: Work): Promise<unknown> => {
    const client = await pool.connect();
    client.on('error', ignore); // a connection may be lost between two statements: the next one is refused
    const state = { hasEnded: false, sent: 0 };
    const statements = joinStatements((joined) => client.query(joined as never));
    const within = {
      query: (config: QueryConfig, values?: unknown[]) => {
        if (state.hasEnded)
          return Promise.reject(new AppError('internal', 'a statement was sent after its transaction had ended'));
        state.sent += 1;
        return statements.ask(prepare(config, values, nameOf), values);
      },
    };
    const session = new NodePgSession<NoTables, NoTables>(within as PoolClient, pgDialect, undefined);
    try {
      const begun = statements.ask({ text: 'begin', name: 'begin' });
      begun.catch(ignore); // whatever is sent with it fails, too
      const tx = collectRows(new NodePgTransaction(pgDialect, session, undefined) as unknown as Transaction);
      const result = await work(sendBy(tx, senderOn(within)));
      const written = writeRows(tx, () => state.sent);
      state.hasEnded = true;
      // with the commit, and without a round trip of its own
      const mark = onAnswered && (statements.ask({ text: markText, name: 'mark' }) as Promise<QueryResult<Marked>>);
      const commit = statements.ask({ text: 'commit', name: 'commit' }) as Promise<QueryResult>;
      await allTogether([...written, ...(mark ? [mark] : []), commit]);
      const { command } = await commit;
      const [marked] = (await mark)?.rows ?? [];
      if (marked && marked.xid !== null) onAnswered?.({ xid: marked.xid, lsn: marked.lsn });
      if (command !== 'COMMIT') throw new AppError('internal', 'a statement of the transaction had failed unnoticed');
      return result;
    } catch (error) {
      state.hasEnded = true;
      await statements.settle();
      await client.query('rollback').catch(ignore); // of a lost connection: the server has done it
      throw error;
    } finally {
      client.off('error', ignore);
      client.release();
    }
  };
  return transaction as Queryable['transaction'];
}

function ignore(): void {
  // the callers say why
}
