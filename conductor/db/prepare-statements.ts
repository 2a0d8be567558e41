import type { Sql, TransactionSql } from 'postgres';

type Client = Sql | TransactionSql;

/**
 * Has every query go as a prepared statement. drizzle sends them unprepared, which costs a second round trip (to learn
 * the parameters' types) and planning each time; there is no option for it. A PgBouncer in between must know prepared
 * statements (1.21 or later, `max_prepared_statements`).
 */
export function prepareStatements<C extends Client>(client: C): C {
  const unsafe = (query: string, parameters: Parameters<Client['unsafe']>[1] = []) =>
    client.unsafe(query, parameters, { prepare: parameters.length > 0 });
  const within = (work: (tx: TransactionSql) => unknown) => (tx: TransactionSql) => work(prepareStatements(tx));
  const begin = (...args: [...options: string[], work: (tx: TransactionSql) => unknown]) => {
    const options = args.slice(0, -1) as string[];
    const work = args.at(-1) as (tx: TransactionSql) => unknown;
    const opened = client as Sql;
    return options[0] === undefined ? opened.begin(within(work)) : opened.begin(options[0], within(work));
  };
  const savepoint = (work: (tx: TransactionSql) => unknown) => (client as TransactionSql).savepoint(within(work));
  const ours: Readonly<Record<string | symbol, unknown>> = { unsafe, begin, savepoint };
  return new Proxy(client, {
    get: (target, key): unknown => (Object.hasOwn(ours, key) ? ours[key] : Reflect.get(target, key)),
  });
}
