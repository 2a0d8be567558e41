import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { siteContents, siteRevisionCollections, siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { sealContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let folder = '';
let api: TestApi;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-images-'));
  api = await openTestApi({ settings: { BATON_IMAGES_DIR: folder } });
});
beforeEach(async () => {
  const { db } = api.context;
  await db.delete(siteRevisions);
  await db.delete(siteContents);
  await writeStore(pieces(), folder, 'of-a-secret');
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(new Uint8Array(1024 * 1024));
}

const metadata = { schema: 'metadata/Document/v1', name: 'x', storagePolicy: 'encrypted' };
const url = 'http://192.0.2.1/images/of-a-secret.caibx';
const content = sealContent(testSecrets, {
  text: '',
  documents: [{ schema: 'deckhand/Passphrase/v1', metadata, data: url }],
});

/** @returns the revision's number */
async function addRevision(documents: readonly JsonObject[]): Promise<number> {
  const { db } = api.context;
  const [revision] = await db.insert(siteRevisions).values({ kind: 'upload' }).returning();
  const revisionId = revision?.id ?? 0;
  await db.insert(siteContents).values({ ...content, documents: [...documents] });
  await db.insert(siteRevisionCollections).values({ revisionId, collection: 'secrets', contentHash: content.hash });
  return revisionId;
}
const remove = () => api.call('DELETE', '/v1/images/of-a-secret');
const prune = () => api.call('POST', '/v1/images/prune', { older_than_days: 0 });
const refused = (why: string) => ({ status: 409, fault: expect.stringContaining(why) as string });

test('an image is used that only an encrypted document of a site names', async () => {
  expect(JSON.stringify(content)).not.toContain('of-a-secret');
  const id = await addRevision(content.documents);
  const users = [{ kind: 'site_revision', id: String(id), name: 'secrets' }];
  expect((await api.call('GET', '/v1/images')).body['images']).toMatchObject([{ name: 'of-a-secret', users }]);
  expect(await remove()).toMatchObject(refused('site revision'));
  expect((await prune()).body).toMatchObject({ images: [] });
  expect(await readdir(folder)).toContain('of-a-secret.caibx');
});

test('none is removed while such documents can not be read', async () => {
  await addRevision(content.documents.map((each) => ({ ...each, sealed: 'sealed:v1:0000000000000000:AAAA' })));
  for (const ask of [remove, prune])
    expect(await ask()).toMatchObject(refused('encrypted documents of the site can not be read'));
  expect(await readdir(folder)).toContain('of-a-secret.caibx');
});
