import { type Connection, Query, type QueryConfig } from 'pg';

type Callback = (error: unknown, result?: unknown) => void;

/** The parts of pg's connection and query that are used here. */
interface OpenConnection {
  readonly submittedNamedStatements: Record<string, string>;
  sync(): void;
}
interface Part {
  name: string | undefined;
  text: string;
  values?: readonly unknown[];
  callback: Callback | undefined;
  submit(connection: Connection): Error | null;
  prepare(connection: Connection): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleEmptyQuery(connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}
const OpenQuery = Query as unknown as new (config: QueryConfig, values?: unknown) => Part;

/** Returns a statement of pg's, to be sent together with others. @throws TypeError for values that are not JSON */
function partOf(config: unknown, values: unknown, callback: Callback): Part {
  const part = config instanceof Query ? (config as unknown as Part) : new OpenQuery(config as QueryConfig, values);
  part.callback = callback;
  // amid the others it would be too late to find that one can't be sent
  if (part.values?.some((value) => typeof value === 'object' && value !== null)) part.values = part.values.map(asText);
  return part;
}

/** Makes a value text as pg would. */
function asText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asText);
  const isPlain = typeof value === 'object' && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value);
  return isPlain ? JSON.stringify(value) : value;
}

const unsynced = new WeakMap<Connection, Connection>();

/** Returns the connection, but that it leaves out what ends each statement. */
function withoutSync(connection: Connection): Connection {
  const known = unsynced.get(connection) ?? Object.create(connection, { sync: { value: () => undefined } });
  unsynced.set(connection, known);
  return known;
}

/**
 * Statements that PostgreSQL gets and answers as one: when one fails, it skips all that follow, and each of them fails with
 * the same error. They must be statements of one transaction.
 */
export class JoinedQuery extends OpenQuery {
  readonly #parts: readonly Part[];
  #at = 0;

  constructor(parts: readonly Part[]) {
    super({ text: '' });
    this.#parts = parts;
    this.#goTo(0);
  }

  override submit(connection: Connection): Error | null {
    for (const part of this.#parts) part.prepare(withoutSync(connection));
    (connection as unknown as OpenConnection).sync();
    return null;
  }

  override handleRowDescription(message: unknown): void {
    this.#parts[this.#at]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.#parts[this.#at]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    this.#parts[this.#at]?.handleCommandComplete(message, connection);
    this.#goTo(this.#at + 1);
  }

  override handleEmptyQuery(): void {
    this.#goTo(this.#at + 1);
  }

  override handleError(error: unknown, connection: Connection): void {
    for (const part of this.#parts.slice(0, this.#at)) part.handleReadyForQuery(connection);
    // those that were skipped were not prepared, either
    const { submittedNamedStatements } = connection as unknown as OpenConnection;
    for (const { name } of this.#parts.slice(this.#at)) if (name !== undefined) delete submittedNamedStatements[name];
    this.callback?.(error);
  }

  /** Ends the queries that have no answer with this error. */
  failRest(error: unknown): void {
    for (const part of this.#parts.slice(this.#at)) part.callback?.(error);
  }

  override handleReadyForQuery(connection: Connection): void {
    for (const part of this.#parts) part.handleReadyForQuery(connection);
    this.callback?.(null);
  }

  /** pg notes what is prepared by the names of the query that it waits for. */
  #goTo(place: number): void {
    const part = this.#parts[place];
    this.#at = place;
    this.name = part?.name;
    this.text = part?.text ?? '';
  }
}

/** The statements of one transaction. */
export interface JoinedStatements {
  ask(config: unknown, values?: unknown): Promise<unknown>;
  /** Sends what is left, and resolves when all have their answers. */
  settle(): Promise<void>;
}

/**
 * Joins what is asked in one turn of the event loop. Until the first are answered, no more are sent: when `begin` failed,
 * they would stand on their own.
 */
export function joinStatements(send: (joined: JoinedQuery) => Promise<unknown>): JoinedStatements {
  const state: { came: 'nothing' | 'begun' | 'failed'; isSending: boolean; isDue: boolean; failure?: unknown } = {
    came: 'nothing',
    isSending: false,
    isDue: false,
  };
  const waiting: Part[] = [];
  const answers = new Set<Promise<unknown>>();
  const rejectWaiting = (error: unknown): void => {
    for (const { callback } of waiting.splice(0)) callback?.(error);
  };
  const flush = (): void => {
    state.isDue = false;
    if (state.came === 'failed') rejectWaiting(state.failure);
    if (waiting.length === 0 || (state.came === 'nothing' && state.isSending)) return;
    state.isSending = true;
    const joined = new JoinedQuery(waiting.splice(0));
    const answered: Promise<unknown> = send(joined)
      .then(
        () => {
          state.came = 'begun';
        },
        (error: unknown) => {
          joined.failRest(error);
          if (state.came === 'nothing') Object.assign(state, { came: 'failed', failure: error });
        },
      )
      .finally(() => {
        answers.delete(answered);
        flush();
      });
    answers.add(answered);
  };
  return {
    ask: (config, values) =>
      new Promise((resolve, reject) => {
        waiting.push(partOf(config, values, (error, result) => (error ? reject(error) : resolve(result))));
        if (state.isDue) return;
        state.isDue = true;
        process.nextTick(flush);
      }),
    settle: async () => {
      do {
        flush();
        await Promise.all(answers);
      } while (waiting.length > 0);
    },
  };
}
