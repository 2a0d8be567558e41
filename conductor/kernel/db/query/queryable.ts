import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** Anything that can be asked: the database or a transaction on it. */
export type Queryable = PgDatabase<PgQueryResultHKT>;

/** A function that takes one can't be called without one. */
export type Transaction = Parameters<Parameters<Queryable['transaction']>[0]>[0];
