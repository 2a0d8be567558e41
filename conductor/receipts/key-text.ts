import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/** `openssl pkey -pubin -in key.pem -outform DER | openssl sha256` prints the same. */
export function fingerprintOf(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/**
 * The public keys of a PEM file: one or several, with any text between them.
 * @param name of the file, for messages
 * @throws AppError `invalid_argument` unless all are Ed25519 public keys.
 */
export function readPublicKeys(pem: string, name: string): KeyObject[] {
  const blocks = [...pem.matchAll(block)];
  if (blocks.length === 0) throw wrongKey(name, 'it has no -----BEGIN PUBLIC KEY-----');
  return blocks.map(([text, label]) => {
    if (label !== 'PUBLIC KEY') throw wrongKey(name, `it has a ${label}`);
    const key = parseKey(text, name);
    if (key.asymmetricKeyType === 'ed25519') return key;
    throw wrongKey(name, `it has a key of type ${key.asymmetricKeyType}`);
  });
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
