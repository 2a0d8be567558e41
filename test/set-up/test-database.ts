import type { TestProject } from 'vitest/node';
import { openDatabase } from '#conductor/kernel/db/open.ts';
import { silentLog } from '#shared/log.ts';
import { askPostgresql, startPostgresql } from '#test/support/postgresql.ts';
import { templateName, urlOf } from '#test/support/test-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the PostgreSQL server that all tests of a run share. */
    testServerUrl: string;
  }
}

/** Before any test: a server, and in it an empty, migrated database, which those of the tests are copies of. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgresql();
  try {
    await askPostgresql(server.url, `create database ${templateName}`);
    const template = await openDatabase({ url: urlOf(server.url, templateName), dataDirectory: '', log: silentLog });
    await template.close();
  } catch (error) {
    await server.close();
    throw error;
  }
  project.provide('testServerUrl', server.url);
  return () => server.close();
}
