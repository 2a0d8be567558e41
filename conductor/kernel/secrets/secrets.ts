import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/** Opens and seals the secrets of a conductor's database. */
export interface Secrets {
  /** @param place what it belongs to, `node <uuid> driver_info.redfish_password`: nowhere else does it open */
  readonly seal: (text: string, place: string) => string;
  /** @throws AppError `invalid_argument` naming the place, and the key that is missing. */
  readonly open: (sealed: string, place: string) => string;
  /** With which begins what is sealed with the key that seals now. */
  readonly prefix: string;
  /**
   * 64 hex digits that reveal nothing of the text without the keys, for low-entropy passwords would be
   * guessed from a plain hash. The same for all conductors, and as long as the oldest key stays.
   */
  readonly digest: (text: string) => string;
}

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const mark = 'sealed:';

/** A sealed value, by itself or as the login of a URL: base64url, since a slash would end that. */
const sealedForm = /sealed:v1:([0-9a-f]{16}):([A-Za-z0-9_-]+)/;
const wholeSealed = new RegExp(`^${sealedForm.source}$`);

export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(mark) && wholeSealed.test(value);
}

/** Returns whether somebody tries to write what only Baton writes. */
export function looksSealed(text: string): boolean {
  return text.startsWith(mark) || sealedForm.test(text);
}

/**
 * @param keys 32 bytes each: the first seals, all open
 */
export function createSecrets(keys: readonly Buffer[]): Secrets {
  // made once: from bytes, Node makes one for each value, which takes longer than opening it
  const byId = new Map(keys.map((key) => [keyId(key), createSecretKey(key)]));
  const [sealing] = byId;
  const oldest = keys.at(-1);
  if (!sealing || !oldest) throw new AppError('internal', 'secrets need a key');
  const [currentId, currentKey] = sealing;
  const prefix = `${mark}v1:${currentId}:`;
  const digestKey = createHmac('sha256', oldest).update('digest').digest();
  return {
    seal: (text, place) => {
      const nonce = randomBytes(nonceBytes);
      const encrypt = createCipheriv(cipher, currentKey, nonce).setAAD(Buffer.from(place));
      const bytes = Buffer.concat([nonce, encrypt.update(text, 'utf8'), encrypt.final(), encrypt.getAuthTag()]);
      return `${prefix}${bytes.toString('base64url')}`;
    },
    open: (sealed, place) => {
      const [, id = '', content = ''] = wholeSealed.exec(sealed) ?? [];
      if (id === '') {
        throw new AppError('invalid_argument', `${place} is not sealed: restart the conductor, which seals it`);
      }
      const key = byId.get(id);
      if (!key) {
        throw new AppError(
          'invalid_argument',
          `${place} is sealed with key ${id}, which is not among the conductor's keys: add that key to ` +
            'BATON_SECRET_KEY_FILE and restart the conductor, or write the value again',
        );
      }
      return decrypt(key, Buffer.from(content, 'base64url'), place);
    },
    prefix,
    digest: (text) => createHmac('sha256', digestKey).update(text).digest('hex'),
  };
}

/** Names a key without revealing it. */
function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

function decrypt(key: KeyObject, bytes: Buffer, place: string): string {
  try {
    const decipher = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-tagBytes));
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    // Node's words ("unable to authenticate data") say no more
    throw new AppError(
      'invalid_argument',
      `${place} can't be opened: it is damaged, or was sealed for another place: write the value again`,
    );
  }
}
