import { expect, test } from 'vitest';
import { parseImageChecksum } from '#conductor/model/image-checksum.ts';

const [sha256, sha512] = ['Ab'.repeat(32), 'cd'.repeat(64)];

test('a digest is known with its name and by its length alone; a checksum file is a URL', () => {
  expect(parseImageChecksum(`sha256:${sha256}`)).toEqual({ algorithm: 'sha256', hex: 'ab'.repeat(32) });
  expect(parseImageChecksum(`SHA512:${sha512}`)).toEqual({ algorithm: 'sha512', hex: sha512 });
  expect(parseImageChecksum(sha512)).toEqual({ algorithm: 'sha512', hex: sha512 });
  expect(parseImageChecksum('https://images/SHA256SUMS')).toEqual({ url: 'https://images/SHA256SUMS' });
});

test.each([
  ['a length that its name does not have', `sha512:${sha256}`],
  ['an algorithm that is not taken', `md5:${'a'.repeat(32)}`],
  ['an MD5', 'a'.repeat(32)],
  ['no digits', `sha256:${'x'.repeat(64)}`],
  ['nothing', ''],
  ['a file', 'file:///SUMS'],
])('%s is no checksum', (_what, given) => {
  expect(parseImageChecksum(given)).toBeUndefined();
});
