import { bigint, timestamp, uuid } from 'drizzle-orm/pg-core';

/** Makes a column for a moment, in milliseconds. */
export const instantColumn = () => timestamp({ withTimezone: true, precision: 3 });

/** Numbers rows in the order of their creation. */
export const sequenceColumn = () => bigint({ mode: 'number' }).generatedAlwaysAsIdentity();

/** Makes the columns of rows that the API names by UUID, and lists in the order of their creation. */
export const identityColumns = () => ({ id: sequenceColumn().notNull().unique(), uuid: uuid().primaryKey() });

export const timeColumns = () => ({ createdAt: instantColumn().notNull().defaultNow(), updatedAt: instantColumn() });
