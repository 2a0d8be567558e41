import { constants, createCipheriv, createECDH, createHash, createHmac, publicEncrypt, randomBytes } from 'node:crypto';
import type { PublicArea } from '#conductor/model/tpm/public-area.ts';
import { sized } from '#shared/tpm/write-fields.ts';

/**
 * Encrypts a secret so that nobody opens it but the TPM with that endorsement key, and only if it holds a key of that name
 * (TPM2_MakeCredential; TPM 2.0 Library Part 1, 24 and annexes B, C).
 * @param secret at most 32 bytes
 * @returns `TPM2B_ID_OBJECT`, then `TPM2B_ENCRYPTED_SECRET`
 */
export function makeCredential(endorsementKey: PublicArea, attestationName: Buffer, secret: Buffer): Buffer {
  const { seed, encrypted } = shareSeed(endorsementKey);
  const cipher = createCipheriv('aes-128-cfb', kdfa(seed, 'STORAGE', attestationName, 128), Buffer.alloc(16));
  const identity = Buffer.concat([cipher.update(sized(secret)), cipher.final()]);
  const integrity = createHmac('sha256', kdfa(seed, 'INTEGRITY', Buffer.alloc(0), 256))
    .update(identity)
    .update(attestationName)
    .digest();
  return Buffer.concat([sized(Buffer.concat([sized(integrity), identity])), sized(encrypted)]);
}

function shareSeed({ key, point }: PublicArea): { seed: Buffer; encrypted: Buffer } {
  if (point) return agreeOnSeed(point);
  const seed = randomBytes(32);
  const padding = {
    padding: constants.RSA_PKCS1_OAEP_PADDING,
    oaepHash: 'sha256',
    oaepLabel: Buffer.from('IDENTITY\0'),
  };
  return { seed, encrypted: publicEncrypt({ key, ...padding }, seed) };
}

function agreeOnSeed(theirs: { readonly x: Buffer; readonly y: Buffer }): { seed: Buffer; encrypted: Buffer } {
  const ecdh = createECDH('prime256v1');
  const ours = ecdh.generateKeys().subarray(1);
  const [x, y] = [ours.subarray(0, 32), ours.subarray(32)];
  const shared = ecdh.computeSecret(Buffer.concat([Buffer.from([4]), theirs.x, theirs.y]));
  // KDFe (Part 1, 11.4.10.3)
  const seed = createHash('sha256')
    .update(Buffer.from([0, 0, 0, 1]))
    .update(shared)
    .update('IDENTITY\0')
    .update(x)
    .update(theirs.x)
    .digest();
  return { seed, encrypted: Buffer.concat([sized(x), sized(y)]) };
}

/** KDFa (Part 1, 11.4.10.2) of up to 256 bits: one round. */
function kdfa(key: Buffer, label: string, context: Buffer, bits: 128 | 256): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bits);
  const round = createHmac('sha256', key)
    .update(Buffer.from([0, 0, 0, 1]))
    .update(`${label}\0`)
    .update(context)
    .update(length);
  return round.digest().subarray(0, bits / 8);
}
