import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

/** `openssl pkey -pubin -in key.pem -outform DER | openssl sha256` prints the same. */
export function fingerprintOf(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** A public key, and until when it signed. */
export interface PublicKey {
  readonly key: KeyObject;
  readonly fingerprint: string;
  /** `null`: as far as the file says, it is in use. */
  readonly retiredAt: Date | null;
}

/** A key as a file that others verify with: the text before the PEM says since when it signs nothing any more. */
export function keyFile(key: { readonly public_key: string; readonly retired_at: string | null }): string {
  return key.retired_at === null ? key.public_key : `${retiredWord} ${key.retired_at}\n${key.public_key}`;
}

const retiredWord = 'Retired:';

/**
 * The public keys of a PEM file: one or several, with any text between them; `Retired: 2026-02-01T00:00:00.000Z` belongs to
 * the key after it.
 * @param name of the file, for messages
 * @throws AppError `invalid_argument` unless all are Ed25519 public keys.
 */
export function readPublicKeys(pem: string, name: string): PublicKey[] {
  const blocks = [...pem.matchAll(block)];
  if (blocks.length === 0) throw wrongKey(name, 'it has no -----BEGIN PUBLIC KEY-----');
  return blocks.map(({ 0: text, 1: label, index }, place) => {
    if (label !== 'PUBLIC KEY') throw wrongKey(name, `it has a ${label}`);
    const key = parseKey(text, name);
    if (key.asymmetricKeyType !== 'ed25519') throw wrongKey(name, `it has a key of type ${key.asymmetricKeyType}`);
    const before = blocks[place - 1];
    const remarks = pem.slice(before ? before.index + before[0].length : 0, index);
    return { key, fingerprint: fingerprintOf(key), retiredAt: readRetired(remarks, name) };
  });
}

function readRetired(remarks: string, name: string): Date | null {
  const line = remarks.split('\n').findLast((each) => each.startsWith(retiredWord));
  if (line === undefined) return null;
  const at = new Date(line.slice(retiredWord.length).trim());
  if (!Number.isNaN(at.getTime())) return at;
  throw wrongKey(name, `'${line}' has no time`);
}

function parseKey(text: string, name: string): KeyObject {
  try {
    return createPublicKey(text);
  } catch (cause) {
    throw wrongKey(name, 'its key is damaged', cause);
  }
}

function wrongKey(name: string, problem: string, cause?: unknown): AppError {
  return new AppError(
    'invalid_argument',
    `${name}: ${problem}; it must have Ed25519 public keys as PEM, as baton receipt key prints them`,
    { cause },
  );
}

/**
 * DSSE v1 (github.com/secure-systems-lab/dsse, protocol.md): the payload travels as the very bytes that were signed, so
 * that nobody has to agree on how JSON is written, and its type is signed with it. No public key travels along: what is
 * signed can't say whose word it is.
 */

const receiptPayloadType = 'application/vnd.baton.wipe-receipt+json';
/** Type of the statement on a machine's attestation key, which is no receipt. */
export const attestationKeyPayloadType = 'application/vnd.baton.attestation-key+json';

const Envelope = z.object({
  payload: z.string(),
  payloadType: z.string(),
  signatures: z.array(z.object({ keyid: z.string().default(''), sig: z.string() })).min(1),
});

/** Composes the bytes that Ed25519 signs: DSSE's pre-authentication encoding. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Buffer {
  const typeBytes = Buffer.byteLength(payloadType);
  return Buffer.concat([Buffer.from(`DSSEv1 ${typeBytes} ${payloadType} ${payload.length} `), payload]);
}

/** The envelope as the file that is stored and handed out: one line. */
export function sealEnvelope(
  payload: Uint8Array,
  key: { readonly fingerprint: string; readonly privateKey: KeyObject },
  payloadType = receiptPayloadType,
): string {
  const signature = sign(undefined, preAuthEncoding(payloadType, payload), key.privateKey);
  const envelope: z.infer<typeof Envelope> = {
    payload: Buffer.from(payload).toString('base64'),
    payloadType,
    signatures: [{ keyid: key.fingerprint, sig: signature.toString('base64') }],
  };
  return `${JSON.stringify(envelope)}\n`;
}

/**
 * The bytes that one of the keys has signed.
 * @throws AppError `invalid_argument`: it is not a receipt, another key's, or was changed.
 */
export function openEnvelope(
  text: string,
  keys: readonly KeyObject[],
): { readonly payload: Buffer; readonly fingerprint: string } {
  const { payload: encoded, payloadType, signatures } = parseEnvelope(text);
  if (payloadType !== receiptPayloadType) {
    throw new AppError('invalid_argument', `it is not a receipt of a wipe: its payload is '${payloadType}'`);
  }
  const payload = fromBase64(encoded, 'payload');
  const known = new Map(keys.map((key) => [fingerprintOf(key), key]));
  const ours = signatures.flatMap(({ keyid, sig }) => {
    const key = known.get(keyid);
    return key ? [{ keyid, key, sig: fromBase64(sig, 'signature') }] : [];
  });
  if (ours.length === 0) {
    throw new AppError(
      'invalid_argument',
      `it is signed by key ${signatures.map(({ keyid }) => keyid || '(not named)').join(', ')}, ` +
        `not by ${[...known.keys()].join(', ')}, which was given`,
    );
  }
  const signed = preAuthEncoding(payloadType, payload);
  for (const { key, keyid, sig } of ours)
    if (verify(undefined, signed, key, sig)) return { payload, fingerprint: keyid };
  throw new AppError(
    'invalid_argument',
    `its signature by key ${ours[0]?.keyid} is wrong: the receipt or the signature was changed after it was signed`,
  );
}

function parseEnvelope(text: string): z.infer<typeof Envelope> {
  const parsed = Envelope.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  throw new AppError(
    'invalid_argument',
    `it is not a receipt, which is JSON with payload, payloadType and signatures: ${describeIssues(parsed.error, 'it')}`,
  );
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid_argument', 'it is not a receipt: it is not JSON', { cause });
  }
}

/** Only the canonical base64 is accepted, so that no byte of a receipt can be changed. */
function fromBase64(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text && bytes.length > 0) return bytes;
  throw new AppError('invalid_argument', `its ${what} is not base64: the receipt was changed after it was signed`);
}
