import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { readRevisionSite } from '#conductor/sites/revisions/check-revision.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import { tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { uploadCollection } from '#conductor/sites/revisions/upload-collection.ts';
import type { Site } from '#conductor/sites/site.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
const reader = () => ({ db: database.db, secrets: testSecrets });

const node = (name: string) =>
  `schema: drydock/BaremetalNode/v1\nmetadata: {name: ${name}}\ndata:\n  oob: {type: fake, fake_id: ${name}}\n` +
  `  interfaces: {eth0: {mac: '52:54:00:00:0a:1${name.at(-1)}'}}\n` +
  '  platform: {image: http://images.example/demo.raw, checksum: http://images.example/SHA256SUMS}\n';
const etcd = (name: string, minimum: number | string) =>
  `---\nschema: promenade/EtcdClusters/v1\nmetadata: {name: ${name}}\ndata:\n` +
  `  clusters: [{name: ${name}, endpoints: ['http://192.0.2.1:2379'], minimum_members: ${minimum}}]\n`;

async function commit(text: string): Promise<number> {
  const content = { text, documents: parseDocuments(text).documents };
  const upload = { collection: 'site', mode: 'replace', content, user: undefined } as const;
  const { revision } = await uploadCollection(reader(), upload);
  const id = revision?.id ?? 0;
  await tagRevision(database.db, { revisionId: id, tag: 'committed', data: {}, user: undefined });
  return id;
}

async function siteOf(id: number): Promise<Site> {
  const { site, faults } = await readRevisionSite(reader(), id, {});
  if (!site) throw new Error(JSON.stringify(faults));
  return site;
}

test("nodes leave the committed revision's clusters, and those that only an older one has", async () => {
  const first = await commit(node('n1') + etcd('old', 3) + etcd('both', 3));
  const site = await siteOf(first);
  const names = async () =>
    (await readEtcdSite(reader(), { revisionId: first, site })).etcdClusters.map((each) => [
      each.name,
      each.minimumMembers,
    ]);
  expect(await names()).toEqual([
    ['old', 3],
    ['both', 3],
  ]);
  const second = await commit(`${node('n1')}---\n${node('n2')}${etcd('both', 5)}${etcd('new', 3)}`);
  const all = [
    ['both', 5],
    ['new', 3],
    ['old', 3],
  ];
  expect(await names()).toEqual(all);
  const found = await readEtcdSite(reader(), { revisionId: first, site });
  expect([...found.nodes]).toEqual(['n1', 'n2']);
  expect(found.remarks).toEqual([
    `etcd cluster new is not in revision ${first}, but in ${second}, which is committed: nodes leave it`,
    `etcd cluster old is in revision ${first}, and no more in ${second}, which is committed: nodes leave it too`,
  ]);
  // committed by force: what is wrong with nodes does not hide its clusters
  await commit(
    `${node('n1')}---\nschema: drydock/BaremetalNode/v1\nmetadata: {name: n2}\ndata: {oob: 7}\n${etcd('both', 5)}${etcd('new', 3)}`,
  );
  expect(await names()).toEqual(all);
  await commit(node('n1') + etcd('both', 'many'));
  await expect(names()).rejects.toThrow("the nodes' etcd clusters are not known");
});
