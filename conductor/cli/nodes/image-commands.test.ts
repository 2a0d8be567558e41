import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { countUpTo } from '#conductor/cli/nodes/open-image.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';
import { parseChunkIndex } from '#shared/chunks/chunk-index.ts';
import { type FakeRegistry, startFakeRegistry } from '#shared/oci/testing/fake-registry.ts';
import { run } from '#shared/process/run.ts';
import { noise } from '#test/support/noise.ts';

const image = noise('image', 2 * 1024 * 1024 + 512);
let folder = '';
let terminal: NodeTerminal;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-image-'));
  terminal = createNodeTerminal();
});
afterEach(() => rm(folder, { recursive: true }));

async function add(content: Uint8Array, ...more: string[]): Promise<unknown> {
  const file = join(folder, 'debian.raw.img');
  await writeFile(file, content);
  return terminal.run('image', 'add', file, '--folder', folder, ...more).catch((error: unknown) => error);
}

test('an image makes the same index, packed or not, without a conductor', async () => {
  await add(image);
  expect(terminal.output).toMatch(
    /debian\.caibx: \d+ chunks of 2\.1 MB, \d+ of them new .*\nchecksum: sha256:[0-9a-f]{64}\n$/,
  );
  expect(terminal.calls).toEqual([]);
  const index = await readFile(join(folder, 'debian.caibx'));
  expect(parseChunkIndex(index).imageBytes).toBe(image.length);
  // two frames: what is behind the first counts
  const frames = Buffer.concat([zstdCompressSync(image.subarray(0, 1000)), zstdCompressSync(image.subarray(1000))]);
  for (const packed of [gzipSync(image), frames]) {
    terminal.output = '';
    await add(packed, '--name', 'packed', '-o', 'json');
    expect(JSON.parse(terminal.output)).toMatchObject({ size: image.length, new_chunks: 0, new_bytes: 0 });
    expect((await readFile(join(folder, 'packed.caibx'))).equals(index)).toBe(true);
  }
});

test('what root adds is the folder owner’s, who prunes it', async () => {
  expect(process.getuid?.()).toBe(0);
  await chown(folder, 4711, 4712);
  await add(image);
  const made = (await readdir(folder, { recursive: true })).filter((name) => !name.endsWith('.img'));
  expect(made.length).toBeGreaterThan(3);
  for (const name of made) {
    const { uid, gid } = await stat(join(folder, name));
    expect([name, uid, gid]).toEqual([name, 4711, 4712]);
  }
});

test('the folder is the one that the conductor of this host serves, or must be given', async () => {
  const file = join(folder, 'debian.img');
  await writeFile(file, image);
  await expect(terminal.run('image', 'add', file)).rejects.toThrow('--folder: it must be given');
  terminal.imagesDirectory = folder;
  await terminal.run('image', 'add', file);
  expect(await readdir(folder)).toContain('debian.caibx');
});

test.each<[string, Uint8Array, string[], RegExp]>([
  ['damaged qcow2', Buffer.from('514649fb00000003', 'hex'), [], /convert .*debian\.raw\.img from qcow2/],
  ['qcow2 over another file', qcow2Head({ backing: 512n }), [], /keeps its data in another file/],
  ['qcow2 beside its data', qcow2Head({ features: 4n }), [], /keeps its data in another file/],
  ['compressed qcow2', gzipSync(qcow2Head({})), [], /compressed qcow2: unpack it first \(gzip -d\)/],
  ['another one', image, ['--checksum', `sha256:${'0'.repeat(64)}`], /--checksum: .* has sha256:[0-9a-f]{64}, not/],
  ['given a bad checksum', image, ['--checksum', 'sha256:12'], /--checksum: it must be sha256:HEX/],
  ['cut short', zstdCompressSync(image).subarray(0, 100_000), [], /unpack .*debian\.raw\.img/],
  ['empty', Buffer.alloc(0), [], /the image is empty/],
  ['given a bad name', image, ['--name', '../x'], /--name: it must be letters/],
])('what is %s gets no index', async (_what, content, more, message) => {
  expect(await add(content, ...more)).toMatchObject({ message: expect.stringMatching(message) });
  expect((await readdir(folder)).filter((name) => name.endsWith('.caibx'))).toEqual([]);
});

test('a file that is not there is refused', async () => {
  expect(exitCodeOf(await terminal.run('image', 'add', '/none', '--folder', folder).catch((e: unknown) => e))).toBe(2);
});

test('qcow2, and a URL, make the same index as the raw image', async () => {
  await add(image);
  const index = await readFile(join(folder, 'debian.caibx'));
  const qcow2 = join(folder, 'x.qcow2');
  await run('qemu-img', ['convert', '-c', '-f', 'raw', '-O', 'qcow2', join(folder, 'debian.raw.img'), qcow2]);
  await terminal.run('image', 'add', qcow2, '--folder', folder, '--name', 'from-qcow2');
  expect((await readFile(join(folder, 'from-qcow2.caibx'))).equals(index)).toBe(true);

  const server = createServer((request, response) => {
    if (request.url === '/web.img?x=1') response.end(image);
    else if (request.url === '/huge.img') response.writeHead(200, { 'Content-Length': 1e17 }).write('x');
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const checksum = `sha256:${createHash('sha256').update(image).digest('hex')}`;
    await terminal.run('image', 'add', `${base}/web.img?x=1`, '--folder', folder, '--checksum', checksum);
    expect((await readFile(join(folder, 'web.caibx'))).equals(index)).toBe(true);
    const missing = terminal.run('image', 'add', `${base}/no.img`, '--folder', folder);
    await expect(missing).rejects.toThrow(/download .*\/no\.img: it answered 404/);
    const huge = terminal.run('image', 'add', `${base}/huge.img`, '--folder', folder);
    await expect(huge).rejects.toThrow(
      /huge\.img: it is larger than the \d+ bytes that may be taken of the disk's free/,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
  expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
});

describe('an image in a registry', () => {
  const layerOf = (registry: FakeRegistry, content: Buffer, title: string) => ({
    mediaType: 'application/octet-stream',
    digest: registry.putFile(content),
    size: content.length,
    annotations: { 'org.opencontainers.image.title': title },
  });
  const login = `Basic ${Buffer.from('me:pull-secret').toString('base64')}`;
  let registry: FakeRegistry;
  let store: FakeRegistry;
  const addFrom = (name: string, ...more: string[]): Promise<void> =>
    terminal.run('image', 'add', `oci://${registry.host}/disks/${name}`, '--folder', folder, ...more);
  beforeEach(async () => {
    registry = await startFakeRegistry();
    store = await startFakeRegistry();
    terminal.registryEnvironment = { BATON_OCI_PLAIN_HTTP: registry.host };
  });
  afterEach(async () => {
    await registry[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  test('makes the same index as its file, read with the login of the file, which a blob store is not shown', async () => {
    await add(image);
    const authFile = join(folder, 'config.json');
    await writeFile(authFile, JSON.stringify({ auths: { [registry.host]: { auth: login.slice('Basic '.length) } } }), {
      mode: 0o600,
    });
    terminal.registryEnvironment['BATON_OCI_AUTH_FILE'] = authFile;
    registry.challenge = 'Basic realm="x"';
    registry.opens.add(login);
    const { digest, ...layer } = layerOf(store, zstdCompressSync(image), 'debian.raw.zst');
    registry.put({ schemaVersion: 2, layers: [{ digest, ...layer }] }, '12');
    registry.redirects.set(digest, `http://${store.host}/bucket/${digest}`);
    await addFrom('debian:12');
    const made = await readFile(join(folder, 'debian-12.caibx'));
    expect(made.equals(await readFile(join(folder, 'debian.caibx')))).toBe(true);
    expect(registry.requests).toContain(`GET /v2/disks/debian/blobs/${digest} ${login}`);
    expect(store.requests).toEqual([`GET /bucket/${digest}`]);
    expect(terminal.output).not.toContain('pull-secret');
  });

  test('for several architectures is chosen by --arch', async () => {
    const entry = (architecture: string, content: Buffer) => ({
      digest: registry.put({ layers: [layerOf(registry, content, 'disk.raw')] }),
      size: 1,
      platform: { architecture, os: 'linux' },
    });
    registry.put({ manifests: [entry('amd64', image), entry('arm64', noise('arm', 600_000))] }, 'both');
    await expect(addFrom('debian:both')).rejects.toThrow('has images for amd64, arm64: --arch decides, and is not set');
    await addFrom('debian:both', '--arch', 'aarch64', '--name', 'arm');
    expect(parseChunkIndex(await readFile(join(folder, 'arm.caibx'))).imageBytes).toBe(600_000);
  });

  test('whose file is another than its manifest says gets no index', async () => {
    const layer = layerOf(registry, image, 'disk.raw');
    registry.put({ layers: [layer] }, 'it');
    registry.redirects.set(layer.digest, `http://${store.host}/${store.putFile(Buffer.from('another'))}`);
    await expect(addFrom('debian:it')).rejects.toThrow(
      new RegExp(`^oci://${registry.host}/disks/debian:it has sha256:[0-9a-f]{64}, not ${layer.digest}$`),
    );
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    ['a checksum beside its own', ['oci://registry.example/a', '--checksum', `sha256:${'0'.repeat(64)}`], /--checksum/],
    ['an architecture of a file', ['/image.raw', '--arch', 'x86_64'], /--arch: it chooses among images of a registry/],
    ['a reference that can’t be read', ['oci://registry.example'], /the repository is missing/],
  ])('%s is refused', async (_what, args, message) => {
    await expect(terminal.run('image', 'add', ...args, '--folder', folder)).rejects.toThrow(message);
  });
});

test('a download without a length ends where the room does', async () => {
  const parts = { count: 0 };
  const counted = countUpTo(10, () => (parts.count += 1));
  const through = pipeline([Buffer.alloc(10), Buffer.alloc(1), Buffer.alloc(1)], counted, async (taken) => {
    for await (const part of taken) expect(part).toHaveLength(10);
  });
  await expect(through).rejects.toThrow('it is larger than the 10 bytes');
  expect(parts.count).toBe(2);
});

const debian = {
  name: 'debian',
  checksum: 'sha256:00',
  size: 2_000_000,
  chunks: 8,
  added_at: '2026-11-21T07:35:42.609000+00:00',
  users: [
    { kind: 'node', id: 'u', name: 'n1' },
    { kind: 'site_revision', id: '4', name: 'design' },
  ],
};

test('images are listed and shown with what uses them, and pruned once that is confirmed', async () => {
  const api = createRecordingTerminal((request) => {
    if (request === 'GET /v1/images') return { images: [debian, { ...debian, name: 'old', size: null, users: [] }] };
    if (request === 'GET /v1/images/debian') return { ...debian, stored_bytes: 1_000_000, own_bytes: 5000 };
    return { images: ['old'], kept: [debian], chunks: 0, bytes: 0 };
  });
  expect(await api.run('image', 'list')).toMatch(
    /^debian +2\.0 MB +2026-11-21 +node n1, site revision 4\nold +damaged +2026-11-21 +-$/m,
  );
  expect(await api.run('image', 'show', 'debian')).toMatch(/1\.0 MB, 5\.0 kB of it for this image alone/);
  expect(await api.run('image', 'prune', '--older-than', '0')).toContain(
    'would remove old, and chunks that no image has: --yes does; 1 image is kept: younger than 0 days or in use',
  );
  expect(await api.run('image', 'prune', '--yes')).toContain(
    'removed old; 0 chunks (0 B); 1 image is kept: younger than 7 days or in use',
  );
  expect(await api.run('image', 'remove', 'a b')).toBe('image a b is removed\n');
  expect(api.calls.slice(2)).toEqual([
    ['POST /v1/images/prune', { dry_run: true, older_than_days: 0 }],
    ['POST /v1/images/prune', { dry_run: false }],
    ['DELETE /v1/images/a%20b'],
  ]);
});

test('an image is known by its file too, unless another one has that name', async () => {
  const names = new Set(['debian', 'own.caibx', 'own']);
  const api = createRecordingTerminal((request) => {
    const name = /^GET \/v1\/images\/(.*)$/.exec(request)?.[1] ?? '';
    if (request.startsWith('DELETE')) return {};
    return names.has(name) ? { ...debian, name, stored_bytes: 1, own_bytes: 1 } : undefined;
  });
  expect(await api.run('image', 'show', 'debian.caibx')).toContain('debian');
  await expect(api.run('image', 'show', 'none.caibx')).rejects.toThrow('there is no image none.caibx');
  expect(await api.run('image', 'remove', 'debian.caibx')).toBe('image debian is removed\n');
  expect(await api.run('image', 'remove', 'own.caibx')).toBe('image own.caibx is removed\n');
  const deleted = api.calls.map(([request]) => request).filter((request) => request.startsWith('DELETE'));
  expect(deleted).toEqual(['DELETE /v1/images/debian', 'DELETE /v1/images/own.caibx']);
});

function qcow2Head({ backing = 0n, features = 0n }): Buffer {
  const head = Buffer.alloc(512);
  head.write('514649fb00000003', 'hex');
  head.writeBigUInt64BE(backing, 8);
  head.writeBigUInt64BE(features, 72);
  return head;
}
