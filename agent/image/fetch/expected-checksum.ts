import {
  type ChecksumEntry,
  digestLengths,
  digestOfLength,
  parseChecksumFile,
  strongestFirst,
} from '#agent/image/fetch/checksum-file.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';
import { showUrl } from '#shared/peers/show-url.ts';

interface WantedDigest {
  /** Places of the image, `/images/disk.raw`. */
  readonly paths?: readonly string[];
  /** The only digest that will do; without it the strongest that is there. */
  readonly algorithm?: string | undefined;
}

/**
 * The digest of an image in a checksum file. A name matches as a whole; with a folder in front where the image's address
 * ends so, or where the file speaks of nothing else. A file may give several digests for one name.
 * @param names of the image, `disk.raw`, the one that counts most first
 * @throws AppError `image_error` when the image is not listed, or not with that digest, or with two different ones.
 */
export function findChecksum(text: string, names: readonly string[], wanted: WantedDigest = {}): string {
  const found = entriesFor(text, names, wanted.paths ?? []);
  const listed = names.join(' or ');
  if (found.length === 0)
    throw new AppError('image_error', `the checksum file does not list ${listed}`, { situation: 'image_checksum' });
  const kinds = wanted.algorithm === undefined ? strongestFirst : [wanted.algorithm];
  const fitting = kinds
    .map((kind) => found.filter(({ algorithm }) => algorithm === kind))
    .find(({ length }) => length > 0);
  if (fitting === undefined) {
    const there = [...new Set(found.map(({ algorithm }) => algorithm ?? 'another kind'))].join(', ');
    throw new AppError(
      'image_error',
      `the checksum file lists ${listed} with ${there}, not with ${wanted.algorithm ?? 'a SHA-2 digest'}`,
      { situation: 'image_checksum' },
    );
  }
  const values = [...new Set(fitting.map(({ hex }) => hex.toLowerCase()))];
  if (values.length > 1) {
    throw new AppError('image_error', `the checksum file lists ${listed} with ${values.length} different digests`, {
      situation: 'image_checksum',
    });
  }
  return fitting[0]?.hex ?? '';
}

/** Lists the entries for the image itself before those that may be. */
function entriesFor(text: string, names: readonly string[], paths: readonly string[]): readonly ChecksumEntry[] {
  const { entries, lineCount } = parseChecksumFile(text);
  const exact = names.map((each) => entries.filter(({ name }) => name === each)).find(({ length }) => length > 0);
  if (exact) return exact;
  const inFolder = entries.filter(({ name }) => name?.includes('/') && paths.some((path) => endsWithPath(path, name)));
  if (inFolder.length > 0) return inFolder;
  const [only] = entries;
  if (lineCount !== 1 || only === undefined) return [];
  return only.name === undefined || names.includes(only.name.split('/').at(-1) ?? '') ? [only] : [];
}

function endsWithPath(path: string, name: string): boolean {
  const wanted = name.replace(/^\/+/, '');
  return path === wanted || path.endsWith(`/${wanted}`);
}

/** The checksum that the bytes of the image as served must have. */
export interface ExpectedChecksum {
  readonly algorithm: 'sha256' | 'sha384' | 'sha512';
  /** Lower-case hex. */
  readonly hex: string;
}

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
    if (!info.os_hash_algo) {
      throw new AppError(
        'invalid_argument',
        'image_info.os_hash_value needs os_hash_algo (sha256 or sha512) beside it',
      );
    }
    const algorithm = info.os_hash_algo.toLowerCase();
    const hex = isUrl(info.os_hash_value)
      ? findIn(await fetchText(info.os_hash_value), info, algorithm)
      : info.os_hash_value;
    return checkDigest(algorithm, hex, 'image_info.os_hash_value');
  }
  if (info.checksum) {
    const hex = isUrl(info.checksum) ? findIn(await fetchText(info.checksum), info) : info.checksum;
    return checkDigest(
      digestOfLength(hex.trim().length) ?? 'unknown',
      hex,
      isUrl(info.checksum) ? `the checksum file ${showUrl(info.checksum)}` : 'image_info.checksum',
    );
  }
  throw new AppError(
    'invalid_argument',
    'image_info has no checksum: give os_hash_algo (sha256 or sha512) and os_hash_value, or checksum (hex, or the URL of a checksum file)',
  );
}

function isUrl(value: string): boolean {
  return /^https?:\/\//.test(value);
}

function findIn(text: string, info: ImageInfo, algorithm?: string): string {
  const paths = info.urls.map((url) => decodePath(new URL(url).pathname));
  const names = [...paths.map((path) => path.split('/').at(-1) ?? ''), info.id];
  return findChecksum(text, [...new Set(names)].filter(Boolean), { paths, algorithm });
}

/** A name may have a percent sign that is none of an address. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
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
