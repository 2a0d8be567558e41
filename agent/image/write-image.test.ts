import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createFakeDisk, type FakeDisk } from '#agent/image/testing/fake-disk.ts';
import { type Behaviour, serveImage } from '#agent/image/testing/image-server.ts';
import { type WriteImageOptions, type WrittenBytes, writeImage } from '#agent/image/write-image.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import { createLog, silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Progress } from '#shared/wire/progress.ts';

const mib = 1024 * 1024;
const diskBytes = 8 * mib;

/** Data, a hole of 2.5 MiB with a small island in it, data, and an end that is no whole sector. */
const image = Buffer.alloc(5 * mib + 100);
for (let at = 0; at < mib + 5; at += 4) image.writeUInt32LE(((at * 2654435761) % 0xffffffff) >>> 0, at);
image.fill('island', 2 * mib + 70_000, 2 * mib + 70_100);
image.fill('tail', 4 * mib);

interface Setup {
  readonly data?: Buffer;
  readonly behaviours?: readonly Behaviour[];
  readonly disk?: { readonly sizeBytes?: number; readonly offload?: boolean; readonly rotational?: boolean };
  readonly options?: Partial<WriteImageOptions>;
}

interface Outcome {
  readonly written?: WrittenBytes;
  readonly error?: unknown;
  readonly content: Buffer;
  readonly requests: readonly string[];
  readonly sleeps: readonly number[];
  readonly progress: readonly Progress[];
  readonly zeroed: FakeDisk['zeroed'];
  readonly opened: boolean;
}

async function write({ data = image, behaviours = [], disk = {}, options = {} }: Setup): Promise<Outcome> {
  await using server = await serveImage(data, behaviours);
  await using target = await createFakeDisk(disk.sizeBytes ?? diskBytes, disk.offload ?? true, disk.rotational);
  const sleeps: number[] = [];
  const progress: Progress[] = [];
  let time = 0;
  // every look at the clock is a second later, so that each slot is reported
  const clock: Clock = { now: () => new Date((time += 1000)), sleep: async (ms) => void sleeps.push(ms) };
  let opened = false;
  const openDisk = async () => {
    opened = true;
    return target.open();
  };
  const seen = () => ({ requests: server.requests, sleeps, progress, zeroed: target.zeroed, opened });
  try {
    const written = await writeImage(target, openDisk, {
      urls: [server.url],
      checksum: { algorithm: 'sha256', hex: sha256(data) },
      clock,
      log: silentLog,
      signal: new AbortController().signal,
      reportProgress: (each) => progress.push(each),
      maxTries: 4,
      ...options,
    });
    return { written, content: await target.content(), ...seen() };
  } catch (error) {
    return { error, content: await target.content(), ...seen() };
  }
}

function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Whether the image is on the disk byte by byte. */
function isWritten(outcome: Outcome): boolean {
  expect(outcome.error).toBeUndefined();
  return outcome.content.subarray(0, image.length).equals(image);
}

/** What the operator sees; `untouched`: the first MiB is as it was, so that the disk does not boot. */
function failureOf(outcome: Outcome): { readonly code: string; readonly text: string; readonly untouched: boolean } {
  expect(outcome.error).toBeInstanceOf(AppError);
  return {
    code: errorCode(outcome.error),
    text: errorChain(outcome.error),
    untouched: outcome.content.subarray(0, mib).every((byte) => byte === 0xaa),
  };
}

function failure(code: string, text: RegExp): unknown {
  return { code, text: expect.stringMatching(text), untouched: true };
}

describe('formats', () => {
  test('raw, holes skipped', async () => {
    const outcome = await write({});
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written).toMatchObject({ imageBytes: image.length, compression: 'none' });
    expect(outcome.written?.writtenBytes).toBeLessThan(3 * mib);
    // nothing behind the image is touched but the rest of its last sector
    expect(outcome.content.subarray(image.length + 412).every((byte) => byte === 0xaa)).toBe(true);
    expect(outcome.zeroed).toHaveLength(1);
  });

  test('raw, on a rotational disk: nothing is zeroed that is written afterwards', async () => {
    const data = Buffer.concat([image, Buffer.alloc(2 * mib - 100), Buffer.alloc(mib, 'end'), Buffer.alloc(70 * mib)]);
    data.fill(0, 2 * mib, 4 * mib);
    const outcome = await write({ data, disk: { rotational: true, sizeBytes: 80 * mib } });
    expect(outcome.content.subarray(0, data.length).equals(data)).toBe(true);
    expect(outcome.zeroed.map(([from, length]) => [from / mib, length / mib])).toEqual([
      [2, 2],
      [6, 1],
      [8, 64],
      [72, 6],
    ]);
    expect(outcome.written?.writtenBytes).toBe(data.length - 73 * mib);
  });

  test('raw, zeroed ahead in steps of 64 MiB', async () => {
    const data = Buffer.concat([image, Buffer.alloc(100 * mib - image.length)]);
    const outcome = await write({ data, disk: { sizeBytes: 120 * mib } });
    expect(outcome.content.subarray(0, data.length).equals(data)).toBe(true);
    expect(Math.max(...outcome.zeroed.map(([, length]) => length))).toBe(64 * mib);
  });

  test('raw, on a disk that can not zero by itself', async () => {
    const outcome = await write({ disk: { offload: false } });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written?.writtenBytes).toBe(image.length + 412);
  });

  test.each([
    ['zstd', zstdCompressSync(image)],
    [
      'zstd, two frames',
      Buffer.concat([zstdCompressSync(image.subarray(0, mib)), zstdCompressSync(image.subarray(mib))]),
    ],
    ['gzip', gzipSync(image)],
    ['gzip, two members', Buffer.concat([gzipSync(image.subarray(0, 1000)), gzipSync(image.subarray(1000))])],
  ])('%s', async (name, data) => {
    const outcome = await write({ data });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written).toMatchObject({ imageBytes: image.length, compression: name.split(',')[0] });
  });

  test('xz', async () => {
    const { stdout } = await run('bash', ['-c', 'xz -c | base64'], { input: image });
    const outcome = await write({ data: Buffer.from(stdout, 'base64') });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written?.compression).toBe('xz');
  });

  test('exactly as large as the disk, of one whole slot', async () => {
    const data = Buffer.alloc(mib, 1);
    const outcome = await write({ data, disk: { sizeBytes: mib } });
    expect(outcome.content.equals(data)).toBe(true);
  });

  test.each([
    ['chunked', { chunked: true }],
    ['until the connection closes', { untilClose: true }],
  ])('sent %s', async (_name, behaviour) => {
    const outcome = await write({ behaviours: [behaviour] });
    expect(isWritten(outcome)).toBe(true);
  });

  test('sha512', async () => {
    const hex = createHash('sha512').update(image).digest('hex');
    expect(isWritten(await write({ options: { checksum: { algorithm: 'sha512', hex } } }))).toBe(true);
  });

  test('progress counts the bytes as served', async () => {
    const { progress } = await write({});
    expect(progress.length).toBeGreaterThan(3);
    expect(progress.at(-1)).toMatchObject({
      phase: 'writing image',
      done_bytes: image.length,
      total_bytes: image.length,
    });
  });
});

describe('refused before the disk is touched', () => {
  test.each<[string, Setup, string, RegExp]>([
    ['416', { behaviours: [{ status: 416 }] }, 'image_error', /fetch the image from .*answered 416/],
    ['206 that nobody asked for', { behaviours: [{ status: 206 }] }, 'image_error', /answered 206/],
    ['404', { behaviours: [{ status: 404 }] }, 'image_error', /fetch the image from .*answered 404/],
    [
      'qcow2',
      { data: Buffer.concat([Buffer.from('QFI\u00fb', 'latin1'), image]) },
      'not_supported',
      /is a qcow2 image/,
    ],
    ['a web page', { data: Buffer.from('<!DOCTYPE html><html>login</html>') }, 'not_supported', /is a web page/],
    ['an empty file', { data: Buffer.alloc(0) }, 'image_error', /image is empty/],
    [
      'raw, too large',
      { disk: { sizeBytes: 4 * mib } },
      'storage_error',
      /too small: it has 4194304 bytes, the image needs 5242980/,
    ],
    [
      'zstd, too large',
      { data: zstdCompressSync(image), disk: { sizeBytes: 4 * mib } },
      'storage_error',
      /needs 5242980 bytes/,
    ],
  ])('%s', async (_name, setup, code, text) => {
    const outcome = await write(setup);
    expect(failureOf(outcome)).toEqual(failure(code, text));
    expect(outcome.opened).toBe(false);
  });
});

test.each([
  ['raw', image],
  ['zstd', zstdCompressSync(image)],
  ['gzip', gzipSync(image)],
])('a beginning that is not wanted is refused before the disk is touched: %s', async (_name, data) => {
  const seen: Buffer[] = [];
  const checkHead = (head: Buffer): void => {
    seen.push(Buffer.from(head));
    throw new AppError('image_error', 'not this one');
  };
  const outcome = await write({ data, options: { checkHead } });
  expect(failureOf(outcome)).toEqual(failure('image_error', /not this one/));
  expect(outcome.opened).toBe(false);
  expect(seen.map((head) => head.equals(image.subarray(0, mib)))).toEqual([true]);
});

describe('failures', () => {
  test('wrong checksum', async () => {
    const hex = sha256(Buffer.from('another'));
    const outcome = await write({ options: { checksum: { algorithm: 'sha256', hex } } });
    expect(failureOf(outcome)).toEqual(
      failure('image_error', new RegExp(`sha256 is ${sha256(image)}, but ${hex} is expected`)),
    );
  });

  test('too large, found out on the way', async () => {
    const outcome = await write({ data: gzipSync(image), disk: { sizeBytes: 4 * mib } });
    expect(failureOf(outcome)).toEqual(
      failure('storage_error', /too small: it has 4194304 bytes, the image needs more/),
    );
  });

  test.each([
    ['zstd', zstdCompressSync(image)],
    ['gzip', gzipSync(image)],
  ])('%s cut short, with a checksum that fits', async (name, data) => {
    const outcome = await write({ data: data.subarray(0, data.length - 10) });
    expect(failureOf(outcome)).toEqual(failure('image_error', new RegExp(`unpack the ${name} image: it is cut short`)));
  });

  test('xz cut short', async () => {
    const { stdout } = await run('bash', ['-c', 'xz -c | base64'], { input: image });
    const outcome = await write({ data: Buffer.from(stdout, 'base64').subarray(0, 1000) });
    expect(failureOf(outcome)).toEqual(failure('image_error', /unpack the xz image: .*Unexpected end of input/));
  });

  test('xz with broken bytes, while the download has far to go', async () => {
    const noise = createHash('shake256', { outputLength: 6 * mib })
      .update('xz')
      .digest();
    const { stdout } = await run('bash', ['-c', 'xz -0 -c | base64'], { input: noise });
    const data = Buffer.from(stdout, 'base64').fill(0xff, 2 * mib, 2.5 * mib);
    const outcome = await write({ data, behaviours: [{ stallAfter: 5 * mib }] });
    expect(failureOf(outcome)).toEqual(failure('image_error', /unpack the xz image: .*corrupt/));
  });

  test('zstd with broken bytes', async () => {
    const data = zstdCompressSync(image);
    data.fill(0xff, 10, 13); // the first block's header
    expect(failureOf(await write({ data }))).toEqual(failure('image_error', /unpack the zstd image/));
  });

  test('stopped', async () => {
    const stop = new AbortController();
    const outcome = await write({ options: { signal: stop.signal, reportProgress: () => stop.abort() } });
    expect(failureOf(outcome)).toEqual(failure('aborted', /stopped/));
  });
});

describe('connections that break', () => {
  test('are resumed at the byte reached', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 1_500_000 }, { dropAfter: 1_000_000 }] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests).toHaveLength(3);
    expect(outcome.requests.slice(1)).toEqual([
      expect.stringMatching(/^bytes=\d+-$/),
      expect.stringMatching(/^bytes=\d+-$/),
    ]);
    expect(outcome.sleeps).toEqual([]);
  });

  test('are begun anew on a server without ranges, without touching what is written', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { ignoreRange: true }] });
    expect(isWritten(outcome)).toBe(true);
  });

  test('fail when the image has changed meanwhile', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { etag: '"v2"' }] });
    expect(failureOf(outcome)).toEqual(failure('image_error', /changed while it was being downloaded/));
  });

  test.each<[string, readonly Behaviour[]]>([
    ['only the second answer knows the length', [{ chunked: true, dropAfter: 2_500_000 }, {}]],
    ['only the first answer knows the length', [{ dropAfter: 2_500_000 }, { hidesTotal: true }]],
    [
      'no answer knows the length',
      [
        { chunked: true, dropAfter: 2_500_000 },
        { chunked: true, hidesTotal: true },
      ],
    ],
    ['a range ends before the file', [{ dropAfter: 2_500_000 }, { rangeBytes: 1_000_000 }, { rangeBytes: 1_000_000 }]],
  ])('are resumed where %s', async (_name, behaviours) => {
    const outcome = await write({ behaviours });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests.filter((request) => request === 'whole')).toHaveLength(1);
  });

  test('are given up after the tries', async () => {
    const outcome = await write({
      behaviours: [{ dropAfter: 2_000_000 }, { dropAfter: 0 }, { dropAfter: 0 }, { dropAfter: 0 }],
    });
    expect(failureOf(outcome)).toEqual(
      failure('unavailable', /gave up after 4 tries: the connection ended after \d+ of 5242980 bytes/),
    );
    expect(outcome.sleeps).toEqual([10_000, 10_000]);
  });

  test('a server that is busy is asked again', async () => {
    const outcome = await write({ behaviours: [{ status: 503 }, {}] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.sleeps).toEqual([10_000]);
  });

  test('a chunked body that ends early is not taken for whole', async () => {
    const outcome = await write({
      behaviours: [
        { chunked: true, dropAfter: 2_000_000 },
        { chunked: true, ignoreRange: true },
      ],
    });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests).toHaveLength(2);
  });
});

describe('several servers', () => {
  test('the next one is taken when the first has no image', async () => {
    await using other = await serveImage(image);
    await using missing = await serveImage(image, [{ status: 404 }]);
    expect(isWritten(await write({ options: { urls: [missing.url, other.url] } }))).toBe(true);
    expect(other.requests).toEqual(['whole']);
  });

  test('the next one takes over in the middle', async () => {
    await using first = await serveImage(image, [{ dropAfter: 3_000_000 }]);
    await using second = await serveImage(image);
    expect(isWritten(await write({ options: { urls: [first.url, second.url] } }))).toBe(true);
    expect(second.requests).toEqual([expect.stringMatching(/^bytes=\d+-$/)]);
  });

  test('the login does not follow to another scheme or port of the host', async () => {
    await using there = await serveImage(image);
    await using here = await serveImage(image, [{ location: there.url }]);
    await write({ options: { urls: [here.url], headers: { authorization: 'Basic c2VjcmV0' } } });
    expect(there.headers[0]?.authorization).toBeUndefined();
  });

  test('a query, which may be a signature, is in no message and no log', async () => {
    await using server = await serveImage(image, [{ status: 503 }, { status: 404 }]);
    const logged: unknown[] = [];
    const log = createLog({ component: 'test', tee: { write: (line) => void logged.push(line) } });
    const { error } = await write({ options: { urls: [`${server.url}?signature=s3cr3t`], log } });
    expect(errorChain(error)).toMatch(/fetch the image from .*disk.raw: /);
    expect(logged.length).toBeGreaterThan(0);
    expect(`${errorChain(error)} ${logged.join(' ')}`).not.toContain('s3cr3t');
  });

  test('a redirect is followed, without the login once the host changes', async () => {
    await using there = await serveImage(image);
    await using here = await serveImage(image, [{ location: there.url.replace('127.0.0.1', 'localhost') }]);
    expect(
      isWritten(await write({ options: { urls: [here.url], headers: { authorization: 'Basic c2VjcmV0' } } })),
    ).toBe(true);
    expect(here.headers[0]?.authorization).toBe('Basic c2VjcmV0');
    expect(there.headers[0]?.authorization).toBeUndefined();
  });
});
