import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { noNetworks } from '#conductor/networks/networks-file.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { commitBuffer, readHeads, rollBack } from '#conductor/sites/revisions/commit-buffer.ts';
import { listRevisions } from '#conductor/sites/revisions/revision-store.ts';
import { uploadCollection } from '#conductor/sites/revisions/upload-collection.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** Several sessions alone can show that changes of documents at the same time lose nothing. */

let server: PostgresServer;
let conductors: Database[];
beforeAll(async () => {
  server = await startPostgresql();
  const open = () => openDatabase({ url: server.url, dataDirectory: '' });
  conductors = [await open(), await open()];
});
afterAll(async () => {
  await Promise.all(conductors.map((database) => database.close()));
  await server.close();
});
beforeEach(() => forgetRevisions(dbOf(0)));

function dbOf(index: number): Database['db'] {
  const database = conductors[index % conductors.length];
  if (!database) throw new Error('no conductor');
  return database.db;
}

const contextOf = (index: number) => ({
  db: dbOf(index),
  secrets: testSecrets,
  networks: { networks: noNetworks },
  drivers: { hardwareTypes: [{ name: 'fake-hardware' }] },
});

function upload(index: number, collection: string, text: string, mode: 'append' | 'replace' = 'append') {
  const content = { text, documents: parseDocuments(text).documents };
  return uploadCollection(contextOf(index), { collection, mode, content, user: undefined });
}

async function outcomes(work: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => (one.status === 'fulfilled' ? 'done' : errorCode(one.reason))).sort();
}

const many = Array.from({ length: 24 }, (_, index) => index);

test('uploads at once are all in the buffer, each in a revision of its own', async () => {
  await Promise.all(many.map((index) => upload(index, `c${index}`, nodeDocument(`n${index}`))));
  const { newest } = await readHeads(dbOf(0));
  expect(newest.size).toBe(many.length);
  expect((await listRevisions(dbOf(0))).length).toBe(many.length);
});

test('the same content at once is stored once, and a document belongs to one collection', async () => {
  expect(await outcomes(many.map((index) => upload(index, 'same', nodeDocument('n1'))))).toEqual(
    many.map(() => 'done'),
  );
  expect((await listRevisions(dbOf(0))).length).toBe(1);
  const rivals = await outcomes(many.map((index) => upload(index, `rival${index}`, nodeDocument('n2'))));
  expect(rivals.filter((outcome) => outcome === 'done')).toEqual(['done']);
  expect(rivals.filter((outcome) => outcome === 'conflict')).toHaveLength(many.length - 1);
});

test('one of many commits at once is done; the others find nothing to commit', async () => {
  await upload(0, 'nodes', nodeDocument('n1'));
  const commits = many.map((index) => commitBuffer(contextOf(index), { force: false, dryRun: false, user: undefined }));
  expect(await outcomes(commits)).toEqual([...many.slice(1).map(() => 'conflict'), 'done']);
});

test('what is committed is what was checked, while others upload and roll back', async () => {
  await upload(0, 'first', nodeDocument('first'));
  const work = many.flatMap((index) => [
    upload(index, `c${index}`, nodeDocument(`n${index}`)),
    commitBuffer(contextOf(index), { force: false, dryRun: false, user: undefined }),
    ...(index % 8 === 0 ? [rollBack(dbOf(index), 1, undefined)] : []),
  ]);
  const ended = await outcomes(work);
  expect(ended.filter((outcome) => outcome !== 'done' && outcome !== 'conflict')).toEqual([]);
  const revisions = await listRevisions(dbOf(0));
  const uploads = revisions.filter(({ kind }) => kind === 'upload');
  expect(uploads).toHaveLength(many.length + 1);
  // nobody can have committed what was not the newest then
  const committed = await listRevisions(dbOf(0), ['committed']);
  const done = ended.filter((outcome) => outcome === 'done').length;
  expect(done).toBe(many.length + 3 + committed.length);
});
