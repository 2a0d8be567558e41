import { describe, expect, test } from 'vitest';
import { findChecksum, resolveChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';

const sha256 = 'a'.repeat(64);
const sha512 = 'B'.repeat(128);
const noFile = (): Promise<string> => Promise.reject(new Error('not to be fetched'));

function info(fields: Record<string, unknown>): ImageInfo {
  return ImageInfo.parse({ id: 'disk.raw', urls: ['http://192.0.2.1/images/disk.raw.zst?x=1'], ...fields });
}

describe('resolveChecksum', () => {
  test('the hash pair goes before checksum', async () => {
    const fields = { os_hash_algo: 'sha512', os_hash_value: sha512, checksum: sha256 };
    expect(await resolveChecksum(info(fields), noFile)).toEqual({ algorithm: 'sha512', hex: 'b'.repeat(128) });
  });

  test('a plain checksum is known by its length', async () => {
    expect(await resolveChecksum(info({ checksum: sha256 }), noFile)).toEqual({ algorithm: 'sha256', hex: sha256 });
  });

  test('a URL names a checksum file, which lists the image by the name in its url or its id', async () => {
    const fetched: string[] = [];
    const fetchText = async (url: string): Promise<string> => {
      fetched.push(url);
      return `${'c'.repeat(64)}  other.raw\n${sha256}  disk.raw.zst\n`;
    };
    const found = await resolveChecksum(info({ checksum: 'https://192.0.2.1/SHA256SUMS' }), fetchText);
    expect(found).toEqual({ algorithm: 'sha256', hex: sha256 });
    expect(fetched).toEqual(['https://192.0.2.1/SHA256SUMS']);
  });

  test.each([
    [{}, /has no checksum: give os_hash_algo .* and os_hash_value, or checksum/],
    [{ checksum: 'd'.repeat(32) }, /checksum is md5, which is too weak/],
    [{ os_hash_algo: 'sha1', os_hash_value: 'd'.repeat(40) }, /os_hash_value is sha1, which is too weak/],
    [{ os_hash_algo: 'sha256', os_hash_value: 'abc' }, /must be 64 hex digits/],
    [{ os_hash_value: sha256 }, /needs os_hash_algo/],
    [{ os_hash_algo: 'crc32', os_hash_value: 'abcd' }, /of no known kind: use sha256/],
    [{ checksum: 'xyz' }, /of no known kind/],
  ])('refuses %j', async (fields, text) => {
    await expect(resolveChecksum(info(fields), noFile)).rejects.toThrow(text);
  });
});

describe('findChecksum', () => {
  test.each([
    ['a bare value', `${sha256}\n`],
    ['sha256sum', `# sums\n${'c'.repeat(64)}  old-disk.raw\n${sha256}  disk.raw\n`],
    ['sha256sum --binary', `${'c'.repeat(64)} *x\n${sha256} *disk.raw\n`],
    ['with ./', `${sha256}  ./disk.raw\n${'c'.repeat(64)}  x\n`],
    ['BSD', `SHA256 (x) = ${'c'.repeat(64)}\r\nSHA256 (disk.raw) = ${sha256}\r\n`],
  ])('%s', (_name, text) => {
    expect(findChecksum(text, ['disk.raw'])).toBe(sha256);
  });

  test('a name in another folder is another file', () => {
    expect(() => findChecksum(`${sha256}  old/disk.raw\n${sha256}  x`, ['disk.raw'])).toThrow(/does not list disk.raw/);
  });
});
