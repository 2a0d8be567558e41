import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms, nistP256 } from '#shared/tpm/algorithms.ts';
import { type ByteReader, readBytes } from '#shared/tpm/byte-reader.ts';

/** Public part of a key in a TPM (`TPM2B_PUBLIC`, TPM 2.0 Library Part 2, 12.2.5). */
export interface PublicArea {
  /** `TPM2B_NAME`'s content: the algorithm of the hash and the hash over the public area. */
  readonly name: Buffer;
  readonly key: KeyObject;
  readonly kind: 'rsa' | 'ecc';
  readonly attributes: number;
  /** Bytes of the two coordinates; of an RSA key none. */
  readonly point?: { readonly x: Buffer; readonly y: Buffer };
}

/** Bits of `TPMA_OBJECT` (Part 2, 8.3). */
const attribute = {
  fixedTpm: 1,
  fixedParent: 4,
  sensitiveDataOrigin: 5,
  restricted: 16,
  decrypt: 17,
  sign: 18,
} as const;
type Attribute = keyof typeof attribute;

const of = (names: readonly Attribute[]): number => names.reduce((bits, name) => bits | (1 << attribute[name]), 0);

/**
 * The endorsement key: RSA 2048 or P-256, as TCG's EK Credential Profile 2.5 has them (templates L-1, L-2, H-1, H-2).
 * @throws AppError `invalid_argument`: it is another kind of key
 */
export function readEndorsementKey(bytes: Buffer): PublicArea {
  const area = readPublicArea(bytes, 'the endorsement key');
  requireAttributes(area, 'the endorsement key', {
    has: ['fixedTpm', 'fixedParent', 'sensitiveDataOrigin', 'restricted', 'decrypt'],
    lacks: ['sign'],
  });
  return area;
}

/**
 * Names a TPM: SHA-256 over its public endorsement key, hex.
 * @param ekPublic `TPM2B_PUBLIC`, base64
 */
export function tpmFingerprint(ekPublic: string): string {
  return readEndorsementKey(Buffer.from(ekPublic, 'base64')).name.subarray(2).toString('hex');
}

/**
 * The attestation key: it signs only what the TPM itself has made (`restricted`), and never leaves it.
 * @throws AppError `invalid_argument`: a key that could sign a made-up quote, or is of no kind that is known
 */
export function readAttestationKey(bytes: Buffer): PublicArea {
  const area = readPublicArea(bytes, 'the attestation key');
  requireAttributes(area, 'the attestation key', {
    has: ['fixedTpm', 'fixedParent', 'sensitiveDataOrigin', 'restricted', 'sign'],
    lacks: ['decrypt'],
  });
  return area;
}

function requireAttributes(
  { attributes }: PublicArea,
  subject: string,
  { has, lacks }: { readonly has: readonly Attribute[]; readonly lacks: readonly Attribute[] },
): void {
  const missing = has.filter((name) => (attributes & of([name])) === 0);
  const wrong = lacks.filter((name) => (attributes & of([name])) !== 0);
  if (missing.length + wrong.length === 0) return;
  const faults = [...missing.map((name) => `lacks ${name}`), ...wrong.map((name) => `has ${name}`)];
  throw new AppError('invalid_argument', `${subject} is of another kind than asked for: it ${faults.join(', ')}`);
}

function readPublicArea(bytes: Buffer, subject: string): PublicArea {
  const outer = readBytes(bytes, subject);
  const area = outer.sized();
  outer.end();
  const reader = readBytes(area, subject);
  const type = reader.u16();
  const nameAlgorithm = reader.u16();
  if (nameAlgorithm !== algorithms.sha256)
    throw new AppError(
      'invalid_argument',
      `${subject} is named by algorithm ${hex(nameAlgorithm)}; SHA-256 is understood`,
    );
  const attributes = reader.u32();
  reader.sized(); // policy
  const name = Buffer.concat([Buffer.from([0x00, algorithms.sha256]), createHash('sha256').update(area).digest()]);
  if (type === algorithms.rsa) return { name, attributes, kind: 'rsa', key: readRsa(reader, subject) };
  if (type === algorithms.ecc) return { name, attributes, kind: 'ecc', ...readEcc(reader, subject) };
  throw new AppError('invalid_argument', `${subject} is of algorithm ${hex(type)}; RSA and ECC are understood`);
}

function readRsa(reader: ByteReader, subject: string): KeyObject {
  skipSymmetric(reader, subject);
  skipScheme(reader);
  const bits = reader.u16();
  const exponent = reader.u32() || 65_537;
  const modulus = reader.sized();
  reader.end();
  if (bits < 2048 || bits > 4096 || modulus.length * 8 !== bits)
    throw new AppError('invalid_argument', `${subject} is an RSA key of ${bits} bits; 2048 to 4096 are understood`);
  if (exponent !== 65_537)
    throw new AppError('invalid_argument', `${subject} has the exponent ${exponent}; 65537 is understood`);
  return createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' } });
}

function readEcc(reader: ByteReader, subject: string): { key: KeyObject; point: { x: Buffer; y: Buffer } } {
  skipSymmetric(reader, subject);
  skipScheme(reader);
  const curve = reader.u16();
  skipScheme(reader); // key derivation
  const [x, y] = [reader.sized(), reader.sized()];
  reader.end();
  if (curve !== nistP256)
    throw new AppError('invalid_argument', `${subject} is on curve ${hex(curve)}; NIST P-256 is understood`);
  const point = { x: padded(x, subject), y: padded(y, subject) };
  const [jwkX, jwkY] = [point.x.toString('base64url'), point.y.toString('base64url')];
  try {
    return { point, key: createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x: jwkX, y: jwkY } }) };
  } catch (cause) {
    throw new AppError('invalid_argument', `${subject} is no point of NIST P-256`, { cause });
  }
}

/** TPMs may leave leading zeros out. */
function padded(coordinate: Buffer, subject: string): Buffer {
  if (coordinate.length > 32)
    throw new AppError(
      'invalid_argument',
      `${subject} has a coordinate of ${coordinate.length} bytes; 32 are understood`,
    );
  return Buffer.concat([Buffer.alloc(32 - coordinate.length), coordinate]);
}

/** AES-128 CFB protects what an endorsement key holds; `makeCredential` uses the same. */
function skipSymmetric(reader: ByteReader, subject: string): void {
  const algorithm = reader.u16();
  if (algorithm === algorithms.none) return;
  const [bits, mode] = [reader.u16(), reader.u16()];
  if (algorithm !== algorithms.aes || bits !== 128 || mode !== algorithms.cfb)
    throw new AppError(
      'invalid_argument',
      `${subject} uses cipher ${hex(algorithm)} with ${bits} bits; AES-128 CFB is understood`,
    );
}

/** A scheme is followed by its hash, unless it is none. */
function skipScheme(reader: ByteReader): void {
  if (reader.u16() !== algorithms.none) reader.u16();
}

function hex(number: number): string {
  return `0x${number.toString(16).padStart(4, '0')}`;
}
