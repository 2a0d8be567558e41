import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { saveAgentSteps } from '#conductor/agents/ask-agent.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteContents, siteRevisionCollections, siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { noise } from '#test/support/noise.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let folder = '';
let api: TestApi;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-images-'));
  api = await openTestApi({ settings: { BATON_IMAGES_DIR: folder } });
});
beforeEach(async () => {
  await api.reset();
  await rm(folder, { recursive: true, force: true });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

const common = noise('common', 3 * 1024 * 1024);
const longAgo = new Date('2020-01-01T00:00:00Z');

let images = 0;

/** An image and its chunks, as of years ago. */
async function add(name: string, own = noise(`image ${(images += 1)}`, 1024 * 1024)): Promise<string> {
  const { sha256 } = await writeStore(piecesOf(common, own), folder, name);
  const paths = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths) await utimes(path, longAgo, longAgo);
  return sha256;
}

async function* piecesOf(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(part);
}

const urlOf = (name: string): string => `http://192.0.2.1/images/${name}.caibx?x=1`;

async function useByNode(name: string, instanceInfo: object): Promise<string> {
  const body = { driver: 'fake-hardware', deploy_interface: 'direct', name, instance_info: instanceInfo };
  const { uuid } = await api.call('POST', '/v1/nodes', body);
  return uuid;
}

function writtenStep(flowUuid: string) {
  return {
    uuid: randomUUID(),
    flowUuid,
    phase: 'main',
    position: 0,
    interface: 'deploy',
    step: 'write_image',
    priority: 80,
    origin: 'agent',
    inBand: true,
  } as const;
}

async function chunkFiles(): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.cacnk')).length;
}

test('images are listed with their sizes, age and users', async () => {
  const sha256 = await add('debian');
  await add('other');
  const uuid = await useByNode('n1', { image_source: urlOf('debian'), image_checksum: sha256 });
  const { body } = await api.call('GET', '/v1/images');
  expect(body['images']).toMatchObject([
    {
      name: 'debian',
      checksum: `sha256:${sha256}`,
      size: 4 * 1024 * 1024,
      added_at: expect.stringContaining('2020-01-01'),
      users: [{ kind: 'node', id: uuid, name: 'n1' }],
    },
    { name: 'other', users: [] },
  ]);
  const shown = (await api.call('GET', '/v1/images/debian')).body as Record<string, number>;
  expect(shown['stored_bytes']).toBeGreaterThan(4 * 1024 * 1024);
  expect(shown['own_bytes']).toBeLessThan(3 * 1024 * 1024);
  expect(await api.call('GET', '/v1/images/none')).toMatchObject({ status: 404 });
});

test('an image that is used is not removed, and not pruned with what is young or damaged', async () => {
  await add('used');
  await add('of-a-flow');
  await add('of-a-site');
  await add('free');
  const uuid = await useByNode('n1', { image_source: urlOf('used') });
  const flowUuid = randomUUID();
  const { db } = api.context;
  await db.insert(flows).values({ uuid: flowUuid, nodeUuid: uuid, kind: 'deploy', state: 'running' });
  await db.insert(flowSteps).values({ ...writtenStep(flowUuid), args: { url: urlOf('of-a-flow') } });
  const upload = { kind: 'upload' } as const;
  const revisions = await db.insert(siteRevisions).values([upload, upload]).returning();
  await db.insert(siteContents).values({ hash: 'h', text: '', documents: [{ image: urlOf('of-a-site') }] });
  await db
    .insert(siteRevisionCollections)
    .values(revisions.map(({ id }) => ({ revisionId: id, collection: 'design', contentHash: 'h' })));
  const { users } = (await api.call('GET', '/v1/images/of-a-site')).body;
  const ofSite = { kind: 'site_revision', name: 'design' };
  expect(users).toEqual(revisions.map(({ id }) => ({ ...ofSite, id: String(id) })));

  const refused = await api.call('DELETE', '/v1/images/used');
  expect(refused).toMatchObject({ status: 409 });
  expect(JSON.stringify(refused.body)).toContain('image used is used by node n1');
  const chunks = await chunkFiles();
  const wanted = { images: ['free'], chunks: 0 };
  expect((await api.call('POST', '/v1/images/prune', { dry_run: true })).body).toMatchObject(wanted);
  expect(await chunkFiles()).toBe(chunks);
  const pruned = (await api.call('POST', '/v1/images/prune', {})).body;
  expect(pruned['images']).toEqual(['free']);
  expect((pruned['kept'] as { name: string }[]).map(({ name }) => name)).toEqual(['of-a-flow', 'of-a-site', 'used']);
  expect(await chunkFiles()).toBe(chunks - Number(pruned['chunks']));
  expect(pruned['chunks']).toBeGreaterThan(0);

  await add('free');
  await writeStore(piecesOf(noise('young', 1024 * 1024)), folder, 'young');
  await writeFile(join(folder, 'damaged.caibx'), 'no index');
  expect((await api.call('POST', '/v1/images/prune', {})).status).toBe(409);
  expect((await api.call('GET', '/v1/images/free')).status).toBe(200);
  expect((await api.call('DELETE', '/v1/images/free')).status).toBe(204);
  expect((await api.call('DELETE', '/v1/images/damaged')).status).toBe(204);
  const swept = (await api.call('POST', '/v1/images/prune', {})).body;
  expect(swept['images']).toEqual([]);
  expect(swept['chunks']).toBeGreaterThan(0); // of the one that is free
  // removed, and its chunks are younger than a day
  expect((await api.call('DELETE', '/v1/images/young')).status).toBe(204);
  expect((await api.call('POST', '/v1/images/prune', {})).body).toMatchObject({ images: [], chunks: 0 });
});

test('an image is used by what names a link to it, and a link that leads nowhere is damaged', async () => {
  const sha256 = await add('debian-12');
  await symlink('debian-12.caibx', join(folder, 'current.caibx'));
  const uuid = await useByNode('n1', { image_source: urlOf('current'), image_checksum: sha256 });
  const users = [{ kind: 'node', id: uuid, name: 'n1' }];
  const listed = (await api.call('GET', '/v1/images')).body;
  expect(listed['images']).toMatchObject([
    { name: 'current', users },
    { name: 'debian-12', users },
  ]);
  expect((await api.call('GET', '/v1/images/debian-12')).body).toMatchObject({ users });
  expect((await api.call('DELETE', '/v1/images/debian-12')).status).toBe(409);
  expect((await api.call('POST', '/v1/images/prune', {})).body).toMatchObject({ images: [], chunks: 0 });

  const chunks = await chunkFiles();
  await rm(join(folder, 'debian-12.caibx'));
  const refused = await api.call('POST', '/v1/images/prune', {});
  expect(refused.status).toBe(409);
  expect(JSON.stringify(refused.body)).toContain('the index of image current is damaged, or leads nowhere');
  expect(await chunkFiles()).toBe(chunks);
});

test('chunks of an index that was replaced stay while a machine may still fetch them', async () => {
  const before = await add('debian');
  const uuid = await useByNode('n1', { image_source: urlOf('debian'), image_checksum: before });
  const { db } = api.context;
  await db.insert(flows).values({ uuid: randomUUID(), nodeUuid: uuid, kind: 'deploy', state: 'running' });
  await add('debian');
  const chunks = await chunkFiles();
  const refused = await api.call('POST', '/v1/images/prune', {});
  expect(refused.status).toBe(409);
  expect(JSON.stringify(refused.body)).toContain('n1: a flow is open there, and its image was added again');
  expect(await chunkFiles()).toBe(chunks);
  await db.update(flows).set({ endedAt: new Date() }).where(eq(flows.nodeUuid, uuid));
  const pruned = await api.call('POST', '/v1/images/prune', {});
  expect(pruned.body).toMatchObject({ images: [], chunks: chunks - (await chunkFiles()) });
  expect(pruned.body['chunks']).toBeGreaterThan(0);
});

test.each([
  ['of another kind', { image_os_hash_algo: 'sha512', image_os_hash_value: 'a'.repeat(128) }],
  ['behind a URL', { image_checksum: 'http://192.0.2.1/SHA256SUMS' }],
])('chunks stay while an image with a checksum %s is deployed', async (_kind, checksum) => {
  await add('debian');
  const uuid = await useByNode('n1', { image_source: urlOf('debian'), ...checksum });
  const { db } = api.context;
  await db.insert(flows).values({ uuid: randomUUID(), nodeUuid: uuid, kind: 'deploy', state: 'running' });
  const refused = await api.call('POST', '/v1/images/prune', {});
  expect(refused.status).toBe(409);
  expect(JSON.stringify(refused.body)).toContain('or has no SHA-256 to compare');
});

test('an image is removed whatever others are, and by its name alone', async () => {
  await add('debian');
  await mkdir(join(folder, 'unreadable.caibx'));
  await mkdir(join(folder, 'sub'));
  await rename(join(folder, 'debian.caibx'), join(folder, 'sub/other.caibx'));
  await add('debian');
  for (const name of ['sub%2Fother', 'sub%2F..%2Fdebian', 'a'.repeat(300)]) {
    expect([name, (await api.call('DELETE', `/v1/images/${name}`)).status]).toEqual([name, 404]);
  }
  expect((await api.call('DELETE', '/v1/images/debian')).status).toBe(204);
  expect(await readdir(join(folder, 'sub'))).toEqual(['other.caibx']);
});

test('an image that is used or added again while a prune reads stays', async () => {
  for (const name of ['again', 'free', 'used']) await add(name);
  await symlink('free.caibx', join(folder, 'z-free.caibx'));
  const uuid = await useByNode('n1', {});
  const { db } = api.context;
  // nodes are read before flows, and files before both
  const waiting = db
    .select({ pid: sql<number>`pid` })
    .from(sql`pg_locks join pg_database on pg_database.oid = database`)
    .where(sql`datname = current_database() and relation = 'flows'::regclass and not granted`);
  const pruning = await db.transaction(async (tx) => {
    await tx.execute(sql`lock table flows in access exclusive mode`);
    const pruned = api.call('POST', '/v1/images/prune', {});
    await expect.poll(async () => (await waiting).length).toBeGreaterThan(0);
    await db
      .update(nodes)
      .set({ instanceInfo: { image_source: urlOf('used') } })
      .where(eq(nodes.uuid, uuid));
    await writeStore(piecesOf(noise('again', 1024 * 1024)), folder, 'again');
    return { pruned }; // not waited for: it waits for the lock
  });
  const { status, body } = await pruning.pruned;
  expect([status, body]).toEqual([200, expect.anything()]);
  expect(body['images']).toEqual(['free', 'z-free']);
  expect((body['kept'] as { name: string }[]).map(({ name }) => name)).toEqual(['again', 'used']);
  expect((await readdir(folder)).sort()).toEqual(['again.caibx', 'default.castr', 'used.caibx']);
});

test('a plan says what stays on the disk of the image that was written last, unless it was erased since', async () => {
  const own = noise('own', 1024 * 1024);
  const former = await add('former', own);
  const next = await add('next');
  const instance = (name: string, sha256: string) => ({
    image_source: urlOf(name),
    image_checksum: `sha256:${sha256}`,
  });
  const uuid = await useByNode('n1', instance('next', next));
  const { db } = api.context;
  const deploy = randomUUID();
  const ended = { nodeUuid: uuid, state: 'succeeded', endedAt: new Date() } as const;
  await db.insert(flows).values({ ...ended, uuid: deploy, kind: 'deploy', startedAt: new Date('2026-01-01') });
  const unknown = { wwn: null, wwn_with_extension: null, wwn_vendor_extension: null, model: null, by_path: null };
  const disk = { name: '/dev/vda', serial: 's', size: 1, ...unknown };
  const osDisk = { disks: [disk], array_uuid: null, flow: deploy, image: { name: 'former', sha256: former } };
  await db.update(nodes).set({ osDisk }).where(eq(nodes.uuid, uuid));
  await saveAgentSteps(db, {
    nodeUuid: uuid,
    kind: 'deploy',
    steps: [writeImageStep, { ...writeImageStep, step: 'erase_devices', priority: 0 }],
    hardwareManagerVersion: {},
  });
  await mkdir(join(folder, 'unreadable.caibx')); // what others are is not asked
  // chunks that reach into the first MiB are always fetched
  const plan = async (request = {}) => {
    const { status, body } = await api.call('POST', '/v1/nodes/n1/plan', request);
    expect([status, body]).toEqual([200, expect.anything()]);
    return body['kept'] as { readonly bytes: number } | undefined;
  };

  const kept = await plan();
  expect(kept).toMatchObject({ image: 'former', of_bytes: 4 * 1024 * 1024 });
  expect(kept?.bytes).toBeGreaterThan(0);
  expect(kept?.bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
  const same = await plan({ instance_info: instance('former', former) });
  expect(same?.bytes).toBeGreaterThanOrEqual(2 * 1024 * 1024);
  expect(same?.bytes).toBeLessThanOrEqual(3 * 1024 * 1024);
  // not the image of that checksum, or not ours
  expect(await plan({ instance_info: instance('former', 'f'.repeat(64)) })).toBeUndefined();
  expect(await plan({ instance_info: instance('elsewhere', next) })).toBeUndefined();
  const erase = { interface: 'deploy', step: 'erase_devices', args: {}, priority: 90 };
  expect(await plan({ deploy_steps: [erase] })).toBeUndefined();

  const clean = randomUUID();
  await db.insert(flows).values({ ...ended, uuid: clean, kind: 'clean', startedAt: new Date('2026-02-01') });
  expect(await plan()).toEqual(kept);
  await db.insert(flowSteps).values({
    ...writtenStep(clean),
    step: 'erase_devices',
    startedAt: new Date('2026-02-01'),
  });
  expect(await plan()).toBeUndefined();
});

const writeImageStep = {
  step: 'write_image',
  interface: 'deploy',
  priority: 80,
  reboot_requested: false,
  abortable: false,
};
