import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { inspectImage } from '#agent/image/decode/image-format.ts';
import { contentEncodingOf } from '#agent/image/fetch/content-encoding.ts';
import { findChecksum, resolveChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { httpGet } from '#agent/image/fetch/http-body.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const hex = { a: 'a'.repeat(64), b: 'b'.repeat(64), c: 'c'.repeat(128), md5: 'd'.repeat(32) };

describe('checksum files', async () => {
  const Case = z.strictObject({
    url: z.url(),
    algorithm: z.string().optional(),
    digest: z.string().optional(),
    says: z.string().optional(),
  });
  const recordings = await readRecordings('images/checksums', z.array(Case).min(1));

  test.each(recordings.map((recording) => [recording.name, recording] as const))('%s', (_name, recording) => {
    const text = recording.outputs['checksum file'] ?? '';
    for (const { url, algorithm, digest, says } of recording.reading) {
      const path = new URL(url).pathname;
      const read = (): string => findChecksum(text, [path.split('/').at(-1) ?? ''], { paths: [path], algorithm });
      const said = ((): string => {
        try {
          return read();
        } catch (error) {
          return errorChain(error);
        }
      })();
      expect(said).toContain(digest ?? says);
    }
  });

  const read = async (text: string, url: string, fields: object = {}): Promise<string> => {
    const info = ImageInfo.parse({ id: 'id.raw', urls: [url], checksum: 'https://h.example/SUMS', ...fields });
    return resolveChecksum(info, () => Promise.resolve(text)).then((found) => found.hex, errorChain);
  };

  test('an entry with a folder counts where the address ends so', async () => {
    const text = `${hex.a}  old/disk.raw\n${hex.b}  ./images/disk.raw\n`;
    expect(await read(text, 'https://h.example/7/images/disk.raw')).toBe(hex.b);
    expect(await read(text, 'https://h.example/old/disk.raw')).toBe(hex.a);
    expect(await read(text, 'https://h.example/disk.raw')).toMatch(/does not list disk.raw or id.raw/);
    expect(await read(text, 'https://h.example/other-images/disk.raw')).toMatch(/does not list/);
  });

  test('a semicolon may stand between digest and name', async () => {
    const text = `${hex.a};disk.raw\n${hex.b};other.raw\n`;
    expect(await read(text, 'https://h.example/disk.raw')).toBe(hex.a);
  });

  test('the only entry of a file is for the image, whatever folder it was made in', async () => {
    expect(await read(`${hex.a}  build/out/disk.raw\n`, 'https://h.example/disk.raw')).toBe(hex.a);
    expect(await read(`${hex.a}  -\n`, 'https://h.example/disk.raw')).toBe(hex.a);
    expect(await read(`${hex.a}  build/out/other.raw\n`, 'https://h.example/disk.raw')).toMatch(/does not list/);
  });

  test('of several digests for one name that counts which was asked for, else the strongest', async () => {
    const text = `${hex.md5}  disk.raw\n${hex.a}  disk.raw\n${hex.c}  disk.raw\n`;
    const url = 'https://h.example/disk.raw';
    expect(await read(text, url)).toBe(hex.c);
    const asked = { checksum: null, os_hash_algo: 'SHA256', os_hash_value: 'https://h.example/SUMS' };
    expect(await read(text, url, asked)).toBe(hex.a);
    expect(await read(`${hex.a}  disk.raw\n${hex.b}  disk.raw\n`, url)).toMatch(/with 2 different digests/);
    expect(await read(`${hex.md5}  disk.raw\n`, url)).toMatch(/is md5, which is too weak/);
  });

  test("the address's own name goes before the image's id", async () => {
    const text = `${hex.a}  id.raw\n${hex.b}  disk.raw\n`;
    expect(await read(text, 'https://h.example/disk.raw')).toBe(hex.b);
    expect(await read(text, 'https://h.example/moved')).toBe(hex.a);
  });

  test('a percent sign that is none of an address', async () => {
    expect(await read(`${hex.a}  100%zz.raw\n${hex.b}  x\n`, 'https://h.example/100%zz.raw')).toBe(hex.a);
    expect(await read(`${hex.a}  two words.raw\n${hex.b}  x\n`, 'https://h.example/two%20words.raw')).toBe(hex.a);
  });
});

describe('heads of HTTP answers', async () => {
  const Reading = z.strictObject({
    path: z.string(),
    status: z.number(),
    bodyBytes: z.number().nullable(),
    encoding: z.enum(['none', 'gzip', 'zstd', 'refused']),
  });
  const recordings = await readRecordings('images/heads', Reading);

  async function readHead(head: string, path: string): Promise<z.infer<typeof Reading>> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(`${head.trimEnd().replaceAll('\n', '\r\n')}\r\n\r\n`));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    const answer = await httpGet(url, {}, { idleTimeoutMs: 60_000, signal: new AbortController().signal });
    try {
      const encoding = ((): z.infer<typeof Reading>['encoding'] => {
        try {
          return contentEncodingOf(answer, url.href) ?? 'none';
        } catch {
          return 'refused';
        }
      })();
      return { path, status: answer.status, bodyBytes: answer.bodyBytes ?? null, encoding };
    } finally {
      answer.close();
      server.close();
    }
  }

  test.each(recordings.map((recording) => [recording.name, recording] as const))('%s', async (_name, recording) => {
    const { reading, outputs } = recording;
    expect(await readHead(outputs['GET'] ?? '', reading.path)).toEqual(reading);
  });

  test.each([
    ['br', '/disk.raw', 'refused'],
    ['deflate', '/disk.raw', 'refused'],
    ['gzip, gzip', '/disk.raw', 'refused'],
    ['GZIP', '/disk.raw', 'gzip'],
    ['x-gzip', '/disk.raw', 'gzip'],
    ['x-gzip', '/disk.RAW.GZ', 'none'],
    ['zstd', '/disk.raw.zst', 'none'],
    ['zstd', '/disk.raw.gz', 'zstd'],
    ['UTF-8', '/disk.raw', 'none'],
    ['binary', '/disk.raw', 'none'],
  ])('Content-Encoding %s of %s: %s', async (word, path, encoding) => {
    const head = `HTTP/1.1 200 OK\nContent-Length: 0\nContent-Encoding: ${word}`;
    expect(await readHead(head, path)).toMatchObject({ encoding });
  });

  test('interim answers without end are given up', async () => {
    await expect(readHead('HTTP/1.1 103 Early Hints\n\n'.repeat(30), '/disk.raw')).rejects.toThrow(
      /20 interim answers/,
    );
  });
});

describe('pages in place of an image', async () => {
  const recordings = await readRecordings('images/pages', z.string());
  const refusal = (bytes: Buffer): string => {
    try {
      return `taken for ${inspectImage(bytes, 'raw').format}`;
    } catch (error) {
      return errorChain(error);
    }
  };

  test.each(recordings.map((recording) => [recording.name, recording] as const))('%s', (_name, recording) => {
    const text = refusal(Buffer.from(recording.outputs['GET'] ?? ''));
    expect(text).toContain(`but what arrived is ${recording.reading}`);
  });

  test.each<[string, string | number[], string]>([
    ['blank lines first', '\n\n  <!doctype html>\n<html>', 'a web page'],
    ['a byte order mark first', '\uFEFF\n<!DOCTYPE HTML PUBLIC "-//W3C//DTD">', 'a web page'],
    ['a comment first', '<!-- generated -->\n<html>', 'a web page'],
    ['other XML', "<?xml version='1.0'?><Fault/>", 'an XML document'],
    ['a list in JSON', '[\n  {"name": "disk.raw"}\n]', 'a JSON document'],
    ['its checksum file', `${hex.a}  disk.raw\n`, 'a checksum file'],
    ['its checksum file of BSD', `SHA256 (disk.raw) = ${hex.a}\n`, 'a checksum file'],
    ['its signature', '-----BEGIN PGP SIGNATURE-----\n\nabc', 'a PGP message'],
    ['lz4', [0x04, 0x22, 0x4d, 0x18, 0x64], 'compressed with lz4'],
    [
      'lz4 behind a frame to be skipped',
      [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7, 4, 0x22, 0x4d, 0x18],
      'compressed with lz4',
    ],
    ['lzma', [0x5d, 0, 0, 0x80, 0], 'compressed with lzma'],
    ['7z', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], 'a 7z archive'],
    ['Android sparse', [0x3a, 0xff, 0x26, 0xed, 1, 0], 'an Android sparse image'],
    ['RPM', [0xed, 0xab, 0xee, 0xdb], 'an RPM package'],
  ])('%s', (_what, bytes, found) => {
    expect(refusal(Buffer.from(bytes as string))).toContain(`but what arrived is ${found}`);
  });

  test('an image that begins with blanks or brackets is none', () => {
    const image = Buffer.alloc(4096, ' ');
    image.write('{ not JSON');
    expect(refusal(image)).toBe('taken for raw');
  });
});
