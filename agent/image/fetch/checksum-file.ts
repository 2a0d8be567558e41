/** Hex digits of each digest. */
export const digestLengths = { md5: 32, sha1: 40, sha224: 56, sha256: 64, sha384: 96, sha512: 128 } as const;
export type Digest = keyof typeof digestLengths;

/** One line of a checksum file. */
export interface ChecksumEntry {
  /** Name as it is written, without `./`; none for a bare value. */
  readonly name: string | undefined;
  /** None for a digest of another kind, as `BLAKE2b`, that has as many digits. */
  readonly algorithm: Digest | undefined;
  readonly hex: string;
}

/** `SHA256 (name) = hex`, as BSD, `--tag` and openssl write it. */
const taggedLine = /^(?<tag>[A-Za-z0-9/-]+)\s*\((?<name>.+)\)\s*=\s*(?<hex>[0-9a-fA-F]+)$/;
/** `hex  name`; `*` for binary, `\` before all for a name with escapes. */
const plainLine = /^\\?(?<hex>[0-9a-fA-F]{32,128})\s+[ *]?(?<name>\S.*)$/;
/** `hex;name`, or the name first: `name: hex`. */
const otherLines = [/^(?<hex>[0-9a-fA-F]{32,128});(?<name>\S.*)$/, /^(?<name>\S+):\s+(?<hex>[0-9a-fA-F]{32,128})$/];
const bareValue = /^(?<hex>[0-9a-fA-F]{32,128})(?:\s+-)?$/;

/** Digests from the strongest on: of several the first is the one to trust. */
export const strongestFirst: readonly Digest[] = ['sha512', 'sha384', 'sha256', 'sha224', 'sha1', 'md5'];

/** Digests that hex digits of this number may be. */
export function digestOfLength(length: number): Digest | undefined {
  return strongestFirst.find((digest) => digestLengths[digest] === length);
}

function parseLine(line: string): ChecksumEntry | undefined {
  const tagged = taggedLine.exec(line)?.groups;
  const plain = [bareValue, plainLine, ...otherLines].map((pattern) => pattern.exec(line)?.groups).find(Boolean);
  const groups = tagged ?? plain;
  const hex = groups?.['hex'];
  if (hex === undefined) return undefined;
  const byLength = digestOfLength(hex.length);
  const tag = tagged?.['tag']?.toLowerCase().replace(/^sha2?-(?=\d)/, 'sha');
  return {
    name: groups?.['name']?.trim().replace(/^\.\//, ''),
    algorithm: tag === undefined || tag === byLength ? byLength : undefined,
    hex,
  };
}

/**
 * The lines of a checksum file that give a digest: bare values, and lines of GNU's, BSD's or openssl's tools; `#` starts
 * a comment.
 */
export function parseChecksumFile(text: string): {
  readonly entries: readonly ChecksumEntry[];
  /** Without blanks and comments. */
  readonly lineCount: number;
} {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return { entries: lines.flatMap((line) => parseLine(line) ?? []), lineCount: lines.length };
}
