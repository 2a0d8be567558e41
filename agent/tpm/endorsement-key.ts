import { hasP256 } from '#agent/tpm/capabilities.ts';
import { type KeyAlgorithm, makeKey, type TpmKey, uniqueSizes } from '#agent/tpm/make-key.ts';
import { readMakersIndex } from '#agent/tpm/nv-index.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { numbers } from '#shared/tpm/write-fields.ts';

/**
 * The endorsement key by TCG's EK Credential Profile 2.5 (B.3): templates L-1 for RSA 2048 and L-2 for NIST P-256, with the
 * policy that the endorsement hierarchy's password opens it.
 */
const policy = Buffer.from('837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa', 'hex');
/** fixedTPM, fixedParent, sensitiveDataOrigin, adminWithPolicy, restricted, decrypt. */
const attributes = 0x0003_00b2;
const symmetric = numbers([algorithms.aes, 2], [128, 2], [algorithms.cfb, 2]);

/** Places of the vendor's certificates, in the order of our preference: elliptic curves are faster. */
const certificates: readonly (readonly [KeyAlgorithm, index: number])[] = [
  ['ecc', 0x01c0_000a],
  ['rsa', 0x01c0_0002],
];

export interface EndorsementKey extends TpmKey {
  readonly algorithm: KeyAlgorithm;
  /** X.509, DER; absent where the TPM's vendor has put none into it. */
  readonly certificate: Buffer | undefined;
}

/**
 * Makes the TPM's endorsement key, which is the same at each boot: of the algorithm for which the TPM's maker has put a
 * certificate into it; without one of NIST P-256 where it has that, else of RSA. Nothing that an operating system may do to
 * the TPM's memory changes the choice, for the key is the machine's identity.
 * @throws AppError as `execute` does; where the choice can't be read none is made, for another key is another machine
 */
export async function makeEndorsementKey(tpm: Tpm): Promise<EndorsementKey> {
  for (const [algorithm, index] of certificates) {
    const place = await readMakersIndex(tpm, index);
    if (place === undefined) continue;
    return { ...(await make(tpm, algorithm)), certificate: place.content && trimCertificate(place.content) };
  }
  return { ...(await make(tpm, (await hasP256(tpm)) ? 'ecc' : 'rsa')), certificate: undefined };
}

async function make(tpm: Tpm, algorithm: KeyAlgorithm): Promise<TpmKey & { readonly algorithm: KeyAlgorithm }> {
  const key = await makeKey(tpm, {
    algorithm,
    attributes,
    policy,
    symmetric,
    scheme: numbers([algorithms.none, 2]),
    unique: Buffer.alloc(uniqueSizes[algorithm]),
  });
  return { ...key, algorithm };
}

/** Cuts what some vendors have behind the certificate: their index is longer, and filled up. */
export function trimCertificate(content: Buffer): Buffer {
  // a DER sequence with a length of two bytes
  if (content.length < 4 || content.readUInt16BE(0) !== 0x3082) return content;
  return content.subarray(0, 4 + content.readUInt16BE(2));
}
