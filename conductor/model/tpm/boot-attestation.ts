import type { BootVerdict } from '#shared/wire/attestation.ts';

/** Outcome of one boot's attestation, as it is kept with the boot. */
export interface BootAttestation {
  readonly verdict: BootVerdict;
  /** Sentences. */
  readonly reasons: readonly string[];
  /** ISO 8601. */
  readonly at: string;
  /** SHA-256 PCRs as they were quoted, hex, by number. */
  readonly pcrs?: Readonly<Record<string, string>>;
  /** Keys of the TPM that has proved the boot; absent where none has. */
  readonly keys?: {
    /** `TPM2B_PUBLIC` of the endorsement key, base64. */
    readonly ekPublic: string;
    /** X.509, DER in base64; absent where the TPM has none. */
    readonly ekCertificate?: string | undefined;
    /** `TPM2B_PUBLIC` of the boot's attestation key, base64: the endorsement key's TPM holds it, as an activation has proved. */
    readonly akPublic: string;
  };
}

/** A boot's attestation key, as others may go on with it. */
export interface AttestationKeyRecord {
  /** `TPM2B_PUBLIC`, base64. */
  readonly akPublic: string;
  /** Bytes of its template's `unique`, base64; absent where the agent has sent none. */
  readonly akUnique?: string | undefined;
}
