import { type Connection, Query, type QueryConfig } from 'pg';

type Parsers = readonly ((value: string) => unknown)[];

/** The part of pg's query that is used here. */
interface OpenQuery {
  readonly name: string;
  readonly _result: { _parsers: Parsers | undefined };
  _accumulateRows: boolean;
  prepare(connection: Connection): void;
  handleRowDescription(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}
const OpenQuery = Query as unknown as new (config: QueryConfig) => OpenQuery;

const parsersOf = new WeakMap<object, Map<string, Parsers>>();

/**
 * A named statement whose rows are arrays, which asks for the description of its rows the first time on a connection only:
 * that of a wide table is longer than a row of it, to write, to send and to read.
 */
export class ArrayQuery extends OpenQuery {
  #known = new Map<string, Parsers>();

  override prepare(connection: Connection): void {
    this.#known = parsersOf.get(connection) ?? new Map<string, Parsers>();
    parsersOf.set(connection, this.#known);
    const parsers = this.#known.get(this.name);
    if (!parsers) {
      super.prepare(connection);
      return;
    }
    this._accumulateRows = true;
    this._result._parsers = parsers;
    super.prepare(Object.create(connection, { describe: { value: () => undefined } }) as Connection);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    super.handleCommandComplete(message, connection);
    if (!this.#known.has(this.name)) this.#known.set(this.name, []);
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message);
    if (this._result._parsers) this.#known.set(this.name, this._result._parsers);
  }
}
