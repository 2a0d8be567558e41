import { readAnswer } from '#agent/tpm/read-answer.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { handles } from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms, nistP256 } from '#shared/tpm/algorithms.ts';
import { numbers, sized } from '#shared/tpm/write-fields.ts';

export type KeyAlgorithm = 'ecc' | 'rsa';

/** A key in the TPM. */
export interface TpmKey {
  readonly handle: number;
  /** `TPM2B_PUBLIC`. */
  readonly publicPart: Buffer;
}

export interface KeyTemplate {
  readonly algorithm: KeyAlgorithm;
  /** Bits of `TPMA_OBJECT`. */
  readonly attributes: number;
  readonly policy: Buffer;
  /** `TPMT_SYM_DEF_OBJECT`, `TPMT_…_SCHEME`. */
  readonly symmetric: Buffer;
  readonly scheme: Buffer;
  /** Bytes of the public part's `unique`, from which and the TPM's seed the key follows: 64 or 256. */
  readonly unique: Buffer;
}

/** Bytes of `unique` of a key, whose zeros are TCG's default. */
export const uniqueSizes: Readonly<Record<KeyAlgorithm, number>> = { ecc: 64, rsa: 256 };

/** Makes a primary key of the endorsement hierarchy: the same for the same template. @throws AppError as `execute` does */
export async function makeKey(tpm: Tpm, template: KeyTemplate): Promise<TpmKey> {
  const { handle, parameters } = await tpm.execute({
    name: 'TPM2_CreatePrimary',
    handles: [handles.endorsement],
    sessions: [handles.password],
    parameters: [
      sized(Buffer.concat([sized(), sized()])), // neither a password nor data of its own
      sized(publicArea(template)),
      sized(), // outside information
      numbers([0, 4]), // PCRs of its creation
    ],
  });
  if (handle === undefined) throw new AppError('internal', 'TPM2_CreatePrimary has made no key');
  return { handle, publicPart: sized(readAnswer('the answer to TPM2_CreatePrimary', parameters).sized()) };
}

/** Writes a `TPMT_PUBLIC`. */
function publicArea({ algorithm, attributes, policy, symmetric, scheme, unique }: KeyTemplate): Buffer {
  const head = Buffer.concat([
    numbers([algorithms[algorithm], 2], [algorithms.sha256, 2], [attributes, 4]),
    sized(policy),
    symmetric,
    scheme,
  ]);
  if (algorithm === 'rsa') return Buffer.concat([head, numbers([2048, 2], [0, 4]), sized(unique)]);
  const half = unique.length / 2;
  return Buffer.concat([
    head,
    numbers([nistP256, 2], [algorithms.none, 2]), // curve, and no key derivation
    sized(unique.subarray(0, half)),
    sized(unique.subarray(half)),
  ]);
}
