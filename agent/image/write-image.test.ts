import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { serveImage } from '#agent/image/testing/image-server.ts';
import { makeQcow2 } from '#agent/image/testing/make-qcow2.ts';
import {
  failure,
  failureOf,
  image,
  isWritten,
  mib,
  type Setup,
  sha256,
  write,
} from '#agent/image/testing/write-to-fake-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';
import { noise } from '#test/support/noise.ts';

const noiseImage = noise('packed', 6 * mib);
const skippable = Buffer.from('502a4d180400000070617274', 'hex');

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
    ['gzip, filled up with zeros', Buffer.concat([gzipSync(image), Buffer.alloc(3 * mib)])],
    ['zstd, a frame to be skipped first', Buffer.concat([skippable, zstdCompressSync(image)])],
    ['zstd, frames to be skipped all over', Buffer.concat([skippable, skippable, zstdCompressSync(image), skippable])],
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

  test('packed for the way, which the checksum does not count, whatever breaks', async () => {
    const body = gzipSync(noiseImage);
    const packed = { contentEncoding: 'gzip', body };
    const outcome = await write({ data: noiseImage, behaviours: [{ ...packed, dropAfter: 2 * mib }, packed] });
    expect(outcome.error).toBeUndefined();
    expect(outcome.content.subarray(0, noiseImage.length).equals(noiseImage)).toBe(true);
    expect(outcome.requests).toHaveLength(2);
  });

  test.each([
    [
      'of the file as it is served',
      gzipSync(noiseImage),
      'gzip, which was undone: give the checksum of the file without it',
    ],
    ['of neither', Buffer.from('another'), 'gzip, which was undone'],
  ])('packed for the way, with the checksum %s, is refused in words', async (_what, summed, words) => {
    const outcome = await write({
      data: noiseImage,
      always: { contentEncoding: 'gzip', body: gzipSync(noiseImage) },
      options: { checksum: { algorithm: 'sha256', hex: sha256(summed) } },
    });
    expect(failureOf(outcome)).toEqual(failure('image_error', new RegExp(`sha256 is not .*Content-Encoding ${words}`)));
  });

  test('packed itself, described by the same header, with the checksum of what is in it', async () => {
    const packed = gzipSync(noiseImage);
    await using server = await serveImage(packed, [], { contentEncoding: 'gzip' });
    const urls = [server.url.replace('disk.raw', 'disk.raw.gz')];
    const checksum = { algorithm: 'sha256' as const, hex: sha256(noiseImage) };
    expect(failureOf(await write({ options: { urls, checksum } }))).toEqual(
      failure(
        'image_error',
        /sha256 is not .*Content-Encoding gzip, which was taken for the file's own: give the checksum of the file with it/,
      ),
    );
  });

  test('a file that is packed itself, described by the same header', async () => {
    const data = gzipSync(image);
    await using server = await serveImage(data, [], { contentEncoding: 'x-gzip' });
    const urls = [server.url.replace('disk.raw', 'disk.raw.gz')];
    const outcome = await write({ data, options: { urls } });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written?.compression).toBe('gzip');
  });

  test('a file as it is that is said to be packed', async () => {
    expect(isWritten(await write({ always: { contentEncoding: 'gzip' } }))).toBe(true);
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
      'qcow2 where raw was declared',
      { data: makeQcow2(image.subarray(0, mib)), options: { declaredFormat: 'raw' } },
      'image_error',
      /^instance_info.image_disk_format is "raw" \(the default\), but what arrived is a qcow2 image/,
    ],
    [
      'qcow2 within zstd',
      { data: zstdCompressSync(makeQcow2(image.subarray(0, mib))) },
      'image_error',
      /no instance_info.image_disk_format is set, but what arrived is a qcow2 image/,
    ],
    [
      'zstd where qcow2 was declared',
      { data: zstdCompressSync(image), options: { declaredFormat: 'qcow2' } },
      'image_error',
      /is "qcow2", but what arrived is compressed with zstd/,
    ],
    ['a web page', { data: Buffer.from('<!DOCTYPE html><html>login</html>') }, 'image_error', /is a web page/],
    [
      'a packing for the way that can not be undone',
      { always: { contentEncoding: 'br' } },
      'image_error',
      /is sent with Content-Encoding br, though none was asked for/,
    ],
    [
      'what is packed twice',
      { data: zstdCompressSync(gzipSync(image)) },
      'image_error',
      /is compressed with gzip, inside another packing/,
    ],
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
    expect(failureOf(outcome)).toEqual(failure('image_error', new RegExp(`sha256 is not ${hex}`)));
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
    const { stdout } = await run('bash', ['-c', 'xz -0 -c | base64'], { input: noise('xz', 6 * mib) });
    const data = Buffer.from(stdout, 'base64').fill(0xff, 2 * mib, 2.5 * mib);
    const outcome = await write({ data, behaviours: [{ stallAfter: 5 * mib }] });
    expect(failureOf(outcome)).toEqual(failure('image_error', /unpack the xz image: .*corrupt/));
  });

  test('zstd with broken bytes', async () => {
    const data = zstdCompressSync(image);
    data.fill(0xff, 10, 13); // the first block's header
    expect(failureOf(await write({ data }))).toEqual(failure('image_error', /unpack the zstd image/));
  });

  test('gzip with rubbish behind its end', async () => {
    const data = Buffer.concat([gzipSync(image), Buffer.alloc(mib), Buffer.from('rubbish')]);
    expect(failureOf(await write({ data }))).toEqual(
      failure('image_error', /unpack the gzip image: there is something behind its end/),
    );
  });

  test('zstd that needs more memory than there is says how to make it', async () => {
    const params = { [constants.ZSTD_c_windowLog]: 28, [constants.ZSTD_c_contentSizeFlag]: 0 };
    const data = await packLong(params);
    const outcome = await write({ data });
    expect(failureOf(outcome)).toEqual(failure('image_error', /more than 128 MiB of memory: make it without --long/));
    expect(outcome.opened).toBe(false);
  });

  test('stopped', async () => {
    const stop = new AbortController();
    const outcome = await write({ options: { signal: stop.signal, reportProgress: () => stop.abort() } });
    expect(failureOf(outcome)).toEqual(failure('aborted', /stopped/));
  });
});

/** Packs as a stream: zstd makes the window no larger than what it knows to come. */
function packLong(params: Record<number, number>): Promise<Buffer> {
  const packer = createZstdCompress({ params });
  packer.write(image.subarray(0, mib));
  packer.end();
  return buffer(packer);
}
