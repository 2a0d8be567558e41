import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

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
  /** `null`: as far as the file tells, it is in use. */
  readonly retiredAt: Date | null;
}

/** A key as a file that others verify with: text before the PEM tells since when it signs nothing any more. */
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
