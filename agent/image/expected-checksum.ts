import { showUrl } from '#agent/image/show-url.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';

const bsdLine = /^[A-Za-z0-9-]+\s*\((?<name>.+)\)\s*=\s*(?<hex>[0-9a-fA-F]+)$/;
const gnuLine = /^(?<hex>[0-9a-fA-F]{32,128})\s+[* ]?(?<name>\S.*)$/;
const bareValue = /^[0-9a-fA-F]{32,128}$/;

/**
 * The digest of an image in a checksum file: one bare value, or `sha256sum` lines, or BSD lines
 * (`SHA256 (name) = hex`); `#` starts a comment. A name matches as a whole, with or without `./` in front.
 * @throws AppError `image_error` when none of `names` is listed.
 */
export function findChecksum(text: string, names: readonly string[]): string {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const [only] = lines;
  if (lines.length === 1 && only !== undefined && bareValue.test(only)) return only;
  for (const line of lines) {
    const groups = (bsdLine.exec(line) ?? gnuLine.exec(line))?.groups;
    const name = groups?.['name']?.trim().replace(/^\.\//, '');
    if (groups?.['hex'] !== undefined && name !== undefined && names.includes(name)) return groups['hex'];
  }
  throw new AppError('image_error', `the checksum file does not list ${names.join(' or ')}`);
}

/** What the bytes of the image as served must hash to. */
export interface ExpectedChecksum {
  readonly algorithm: 'sha256' | 'sha384' | 'sha512';
  /** Lower-case hex. */
  readonly hex: string;
}

/** Hex digits of each digest. */
const digestLengths = { md5: 32, sha1: 40, sha224: 56, sha256: 64, sha384: 96, sha512: 128 } as const;

/**
 * The checksum that `image_info` asks for: the hash pair before `checksum`, as in Ironic (agent-protocol.md §6.1).
 * @param fetchText fetches a checksum file
 * @throws AppError `invalid_argument` when there is none, or one that is malformed or too weak to trust.
 */
export async function resolveChecksum(
  info: ImageInfo,
  fetchText: (url: string) => Promise<string>,
): Promise<ExpectedChecksum> {
  if (info.os_hash_value) {
    const hex = /^https?:\/\//.test(info.os_hash_value)
      ? findChecksum(await fetchText(info.os_hash_value), imageNames(info))
      : info.os_hash_value;
    if (!info.os_hash_algo) {
      throw new AppError(
        'invalid_argument',
        'image_info.os_hash_value needs os_hash_algo (sha256 or sha512) beside it',
      );
    }
    return checkDigest(info.os_hash_algo.toLowerCase(), hex, 'image_info.os_hash_value');
  }
  if (info.checksum) {
    const isUrl = /^https?:\/\//.test(info.checksum);
    const hex = isUrl ? findChecksum(await fetchText(info.checksum), imageNames(info)) : info.checksum;
    return checkDigest(
      algorithmByLength(hex),
      hex,
      isUrl ? `the checksum file ${showUrl(info.checksum)}` : 'image_info.checksum',
    );
  }
  throw new AppError(
    'invalid_argument',
    'image_info has no checksum: give os_hash_algo (sha256 or sha512) and os_hash_value, or checksum (hex, or the URL of a checksum file)',
  );
}

function imageNames(info: ImageInfo): readonly string[] {
  const names = info.urls.map((url) => decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? ''));
  return [...new Set([...names, info.id])].filter(Boolean);
}

function algorithmByLength(hex: string): string {
  const found = Object.entries(digestLengths).find(([, length]) => length === hex.trim().length);
  return found?.[0] ?? 'unknown';
}

function checkDigest(algorithm: string, value: string, field: string): ExpectedChecksum {
  const hex = value.trim().toLowerCase();
  switch (algorithm) {
    case 'sha256':
    case 'sha384':
    case 'sha512': {
      const length = digestLengths[algorithm];
      if (new RegExp(`^[0-9a-f]{${length}}$`).test(hex)) return { algorithm, hex };
      throw new AppError('invalid_argument', `${field} is not a ${algorithm} digest: it must be ${length} hex digits`);
    }
    case 'md5':
    case 'sha1':
    case 'sha224':
      throw new AppError(
        'invalid_argument',
        `${field} is ${algorithm}, which is too weak to trust an image by: use sha256 or sha512`,
      );
    default:
      throw new AppError(
        'invalid_argument',
        `${field} is of no known kind: use sha256 (64 hex digits) or sha512 (128 hex digits), named in os_hash_algo`,
      );
  }
}
