import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { silentLog } from '#shared/log.ts';
import { askPostgresql } from '#test/support/postgresql.ts';

export const templateName = 'baton_template';

/** A database of the server that is another one's. */
export function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** A database that is empty and migrated, which nobody else has, on the server that all tests share. */
export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

export async function makeTestDatabase(): Promise<TestDatabase> {
  const server = inject('testServerUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await askPostgresql(server, `create database ${name} template ${templateName}`);
  return {
    url: urlOf(server, name),
    drop: () => askPostgresql(server, `drop database ${name} with (force)`),
  };
}

/** The same, opened; closing it drops it. */
export async function openTestDatabase(): Promise<Database> {
  const { url, drop } = await makeTestDatabase();
  const database = await openDatabase({ url, dataDirectory: '', log: silentLog, isAlone: true });
  return {
    ...database,
    close: async () => {
      await database.close();
      await drop();
    },
  };
}
