import { hasP256 } from '#agent/tpm/capabilities.ts';
import { makeKey, type TpmKey, uniqueSizes } from '#agent/tpm/make-key.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { numbers } from '#shared/tpm/write-fields.ts';

/** fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, restricted, sign: it signs only what the TPM says itself. */
const attributes = 0x0005_0072;

/** An attestation key, and what it is made from besides the TPM's own seed. */
export interface AttestationKey extends TpmKey {
  readonly unique: Buffer;
}

/**
 * Makes an attestation key, the same one for the same seed: NIST P-256 with ECDSA where the TPM has that, else RSA 2048 with PKCS 1.5,
 * both with SHA-256. It is of the endorsement hierarchy, whose quotes show the TPM's clock and firmware as they are.
 * @param seed 256 random bytes, or the `unique` of a key that it made before; nothing secret follows from them, as the TPM adds a seed of its own
 * @throws AppError as `execute` does
 */
export async function makeAttestationKey(tpm: Tpm, seed: Buffer): Promise<AttestationKey> {
  const algorithm = (await hasP256(tpm)) ? 'ecc' : 'rsa';
  const unique = seed.subarray(0, uniqueSizes[algorithm]);
  const key = await makeKey(tpm, {
    algorithm,
    attributes,
    policy: Buffer.alloc(0),
    symmetric: numbers([algorithms.none, 2]),
    scheme: numbers([algorithm === 'ecc' ? algorithms.ecdsa : algorithms.rsassa, 2], [algorithms.sha256, 2]),
    unique,
  });
  return { ...key, unique };
}
