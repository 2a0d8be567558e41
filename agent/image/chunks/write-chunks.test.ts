import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { WrittenBytes } from '#agent/image/disk/image-target.ts';
import { createFakeDisk } from '#agent/image/testing/fake-disk.ts';
import { makeChunks, makeChunksAtBlocks, serveFiles } from '#agent/image/testing/serve-chunks.ts';
import { mib, sha256 } from '#agent/image/testing/write-to-fake-disk.ts';
import { writeImage } from '#agent/image/write-image.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { array, assert, asyncProperty, boolean, integer, nat, tuple } from '#test/fuzz/fast-check.ts';
import { noise } from '#test/support/noise.ts';

const kib = 1024;
/** Data, a hole of 3 MiB, data again, and an end that is not a whole sector. */
const image = Buffer.concat([noise('head', 2 * mib + 3), Buffer.alloc(3 * mib), noise('tail', 2 * mib + 100)]);
const ends = cutAt(image.length, 200_001);

function cutAt(length: number, step: number): number[] {
  const chunks = Math.ceil(length / step);
  return Array.from({ length: chunks }, (_, chunk) => Math.min(length, (chunk + 1) * step));
}

interface Setup {
  readonly index: Buffer;
  readonly file: (path: string, request: number) => Buffer | undefined;
  /** Content of the disk before, from its beginning. */
  readonly old?: Buffer;
  readonly offload?: boolean;
  /** Query of the index's URL: `?token=a`. */
  readonly query?: string;
}

interface Outcome {
  readonly written?: WrittenBytes;
  readonly error?: string;
  readonly content: Buffer;
  readonly requests: readonly string[];
  readonly opened: boolean;
  readonly connections: number;
}

async function write({ index, file, old, offload = true, query = '' }: Setup): Promise<Outcome> {
  await using server = await serveFiles((path, request) =>
    path === `disk.caibx${query}` ? index : file(path, request),
  );
  await using target = await createFakeDisk(12 * mib, offload);
  if (old) {
    const handle = await open(target.name, 'r+');
    await handle.write(old);
    await handle.close();
  }
  let opened = false;
  const openDisk = async () => {
    opened = true;
    return target.open();
  };
  const seen = async () => ({
    content: await target.content(),
    requests: server.requests,
    opened,
    connections: server.connections(),
  });
  try {
    const written = await writeImage(target, openDisk, {
      urls: [`${server.url}disk.caibx${query}`],
      checksum: { algorithm: 'sha256', hex: sha256(index) },
      clock: systemClock,
      log: silentLog,
      signal: new AbortController().signal,
      reportProgress: () => undefined,
      maxTries: 2,
      retryDelayMs: 0,
    });
    return { written, ...(await seen()) };
  } catch (error) {
    return { error: errorChain(error), ...(await seen()) };
  }
}

function isWritten({ content, error }: Outcome): boolean {
  expect(error).toBeUndefined();
  return content.subarray(0, image.length).equals(image);
}

describe('an image in chunks', () => {
  const { index, store } = makeChunks(image, ends);
  const file = (path: string) => store.get(path);

  test.each([true, false])('is written to a disk of old bytes (zeroed by the device: %s)', async (offload) => {
    const outcome = await write({ index, file, offload });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.content.subarray(image.length + 412).every((byte) => byte === 0xaa)).toBe(true);
  });

  test('is fetched and written only where the disk has something else', async () => {
    const old = Buffer.from(image);
    old.fill(0, 0, mib);
    old.fill('other', 6 * mib, 6 * mib + 10);
    const outcome = await write({ index, file, old });
    expect(isWritten(outcome)).toBe(true);
    // the index, those of the first MiB, and the one that differs
    expect(outcome.requests).toHaveLength(1 + 6 + 1);
    const fetched = 6 * 200_001 + 200_001;
    // whole MiB are written; a chunk may reach into two
    expect(outcome.written).toMatchObject({
      origin: { kept: image.length - fetched, copied: 0 },
      writtenBytes: 4 * mib,
    });
  });

  test('is fetched over a few connections that stay', async () => {
    const { requests, connections } = await write({ index, file });
    expect(requests.length).toBeGreaterThan(20);
    expect(connections).toBeLessThanOrEqual(1 + 16); // the index's own, and one for each fetched at once
  });

  test("has the query of its index's URL in the chunks' URLs", async () => {
    const query = '?token=a%2Fb';
    const outcome = await write({ index, query, file: (path) => file(path.replace(query, '')) });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests.every((path) => path.endsWith(query))).toBe(true);
  });

  test('leaves a disk that it does not fit on', async () => {
    const large = makeChunks(Buffer.alloc(13 * mib), cutAt(13 * mib, 256 * kib));
    const outcome = await write({ index: large.index, file: (path) => large.store.get(path) });
    expect(outcome.error).toMatch(/too small/);
    expect(outcome.opened).toBe(false);
  });

  test('fails before the first MiB is written when a chunk is missing, another, or larger than said', async () => {
    const last = [...store.keys()].at(-1);
    const faults: readonly (readonly [Buffer | undefined, RegExp])[] = [
      [undefined, /a chunk of the image from .* answered 404/],
      [[...store.values()][0], /unpacked to its \d+ bytes/],
      [makeSmall(), /another content than the index says/],
      [Buffer.from('no frame'), /not compressed: it must be zstd/],
    ];
    for (const [fault, text] of faults) {
      const outcome = await write({ index, file: (path) => (path === last ? fault : store.get(path)) });
      expect(outcome.error).toMatch(text);
      expect(outcome.content.subarray(0, mib).every((byte) => byte === 0xaa)).toBe(true);
    }
  });

  test('any old content, any cuts, any faults: it is the image in the end, or nothing that boots', async () => {
    const small = image.subarray(mib, 5 * mib + 300_000);
    const cut = integer({ min: 100 * kib, max: 256 * kib });
    const damage = array(tuple(nat(small.length - 1), integer({ min: 1, max: 2 * mib }), nat(255)));
    const faults = array(nat(60), { maxLength: 4 });
    const property = asyncProperty(cut, damage, faults, boolean(), async (step, damaged, failing, offload) => {
      const made = makeChunks(small, cutAt(small.length, step));
      const old = Buffer.from(small);
      for (const [from, length, byte] of damaged) old.fill(byte, from, Math.min(small.length, from + length));
      old.fill(0, 0, mib);
      const outcome = await write({
        index: made.index,
        file: (path, request) => (failing.includes(request) ? Buffer.from('no') : made.store.get(path)),
        old,
        offload,
      });
      const [bytes, expected] = outcome.error === undefined ? [small.length, small] : [mib, old];
      expect(outcome.content.subarray(0, bytes).equals(expected.subarray(0, bytes))).toBe(true);
    });
    await assert(property, { numRuns: 15, endOnFailure: true });
  });
});

describe('an image cut at blocks', () => {
  const sizes = { min: 16 * kib, avg: 32 * kib, max: 128 * kib };
  const data = Buffer.concat([noise('one', 5 * mib), Buffer.alloc(mib), noise('two', 4 * mib + 1000)]);
  const { index, store } = makeChunksAtBlocks(data, sizes);
  const block = 4 * kib;

  async function writeOver(old: Buffer, refused: readonly number[] = []): Promise<Outcome> {
    const file = (path: string, request: number) => (refused.includes(request) ? Buffer.from('no') : store.get(path));
    return write({ index, file, old });
  }

  test.each([
    ['forwards', Buffer.concat([data.subarray(0, 2 * mib), data.subarray(2 * mib + block)])],
    ['backwards', Buffer.concat([data.subarray(0, 2 * mib), noise('block', block), data.subarray(2 * mib)])],
    ['across', Buffer.concat([data.subarray(6 * mib, 10 * mib), data.subarray(0, 6 * mib)])],
  ])('is copied where what the disk holds has moved %s', async (_how, old) => {
    const outcome = await writeOver(old);
    expect(outcome.error).toBeUndefined();
    expect(outcome.content.subarray(0, data.length).equals(data)).toBe(true);
    const { kept = 0, copied = 0, fetched = 0 } = outcome.written?.origin ?? {};
    expect(copied).toBeGreaterThan(2 * mib);
    // the first MiB, those that the change runs through, and the index
    expect(fetched).toBeLessThan(2 * mib);
    expect(kept + copied + fetched).toBeGreaterThan(8 * mib);
  });

  test('any pieces of it anywhere on the disk, any faults: it is the image in the end, or nothing that boots', async () => {
    const blocks = Math.floor(data.length / block);
    // from, length, to: as often over one another as beside
    const moves = array(tuple(nat(blocks - 1), integer({ min: 1, max: 1500 }), nat(blocks - 1)), { maxLength: 8 });
    const property = asyncProperty(
      moves,
      boolean(),
      array(nat(150), { maxLength: 3 }),
      async (moved, same, failing) => {
        const old = same ? Buffer.from(data) : noise('old', data.length);
        for (const [from, length, to] of moved) data.copy(old, to * block, from * block, (from + length) * block);
        const outcome = await writeOver(old, failing);
        const [bytes, expected] = outcome.error === undefined ? [data.length, data] : [mib, old];
        expect(outcome.content.subarray(0, bytes).equals(expected.subarray(0, bytes))).toBe(true);
      },
    );
    await assert(property, { numRuns: 25, endOnFailure: true });
  });
});

const casync = await run('casync', ['--version']).catch(() => undefined);

describe.skipIf(casync === undefined)(`what casync makes${casync ? '' : ' (skipped: casync is not installed)'}`, () => {
  test.each([[[]], [['--digest=sha256', '--chunk-size=64K:256K:1M']]])('is written, with %j', async (options) => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-casync-'));
    try {
      await writeFile(join(folder, 'disk.raw'), image);
      const names = [`--store=${join(folder, 'default.castr')}`, join(folder, 'disk.caibx'), join(folder, 'disk.raw')];
      await run('casync', ['make', ...options, ...names]);
      const store = new Map<string, Buffer>();
      const list = await run('find', [folder, '-name', '*.cacnk', '-printf', '%P\\n']);
      for (const name of list.stdout.trim().split('\n')) store.set(name, await readFile(join(folder, name)));
      const index = await readFile(join(folder, 'disk.caibx'));
      const first = await write({ index, file: (path) => store.get(path) });
      expect(isWritten(first)).toBe(true);
      const again = await write({ index, file: (path) => store.get(path), old: first.content });
      expect(isWritten(again)).toBe(true);
      expect(again.requests.length).toBeLessThan(first.requests.length);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

function makeSmall(): Buffer {
  const size = image.length - (ends.at(-2) ?? 0);
  const [only] = makeChunks(Buffer.alloc(size, 'other'), [size]).store.values();
  return only ?? Buffer.alloc(0);
}
