import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';

/**
 * Baton's own calls by which a machine's TPM 2.0 proves which machine asks, and what it has booted, before the lookup.
 * A conductor that does not attest answers the first with 404; the machine then looks itself up as without a TPM.
 */

/** Base64 of keys, certificates and signatures, which have one or two kilobytes. */
const bytes = z.base64().max(8 * 1024);

/** Bytes that an event log may have; firmware writes some ten kilobytes. */
export const mostLogBytes = 512 * 1024;

/** PCRs that are quoted, SHA-256 bank: all that firmware and boot loaders extend; 10 is the running kernel's (IMA). */
export const quotedPcrs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14] as const;

/** `POST /v1/attestations`: the machine says which TPM it has. */
export const AttestationRequest = z.strictObject({
  /** MAC addresses of the machine's network cards, as in a lookup. */
  addresses: z.array(z.string().max(64)).min(1).max(256),
  /** `TPM2B_PUBLIC` of the endorsement key, of TCG's template for RSA 2048 or NIST P-256. */
  ek_public: bytes,
  /** X.509, DER; absent where the TPM's vendor has put none into it. */
  ek_certificate: bytes.optional(),
  /** `TPM2B_PUBLIC` of the attestation key: restricted, signing, made in the TPM. */
  ak_public: bytes,
  /** Bytes of the template's `unique` from which the TPM makes that key, and makes it again. */
  ak_unique: bytes.optional(),
});
export type AttestationRequest = z.infer<typeof AttestationRequest>;

export const AttestationChallenge = z.object({
  /** Goes back with the answer; sealed, for the conductor alone. */
  challenge: z.string(),
  /** 32 bytes, hex: the quote's qualifying data. */
  nonce: z.string().regex(/^[0-9a-f]{64}$/),
  /** `TPM2B_ID_OBJECT`, then `TPM2B_ENCRYPTED_SECRET`: what TPM2_ActivateCredential opens. */
  credential: z.base64(),
});
export type AttestationChallenge = z.infer<typeof AttestationChallenge>;

/** `POST /v1/attestations/answer`: the machine proves it. */
export const AttestationAnswer = z.strictObject({
  challenge: z.string().max(64 * 1024),
  /** `TPMS_ATTEST`, as signed. */
  quote: bytes,
  /** `TPMT_SIGNATURE`. */
  signature: bytes,
  /** SHA-256 values by PCR: `{"0": "<64 hex>"}`. */
  pcr_values: z.record(z.string().regex(/^\d{1,2}$/), z.string().regex(/^[0-9a-f]{64}$/)),
  /** `binary_bios_measurements`, as the firmware and the loaders wrote it. */
  event_log: z
    .base64()
    .max(1024 * 1024)
    .optional(),
  /** Reason why there is no log. */
  event_log_problem: z.string().max(500).optional(),
  /** `proveCredential` of the secret that the TPM has opened. */
  proof: z.string().regex(/^[0-9a-f]{64}$/),
});
export type AttestationAnswer = z.infer<typeof AttestationAnswer>;

/** A TPM's statement on its PCRs, as the command `tpm.quote` answers it: by the attestation key of the boot's lookup. */
export const TpmQuote = z.object({
  /** `TPMS_ATTEST`, as signed. */
  quote: bytes,
  /** `TPMT_SIGNATURE`. */
  signature: bytes,
  /** Values by PCR, as in `AttestationAnswer`. */
  pcr_values: z.record(z.string().regex(/^\d{1,2}$/), z.string().regex(/^[0-9a-f]{64}$/)),
});
export type TpmQuote = z.infer<typeof TpmQuote>;

/** `trusted`: the known machine, with accepted firmware, runs what it was served; `unknown`: part of it is not proved. */
export const bootVerdicts = ['trusted', 'changed', 'unknown'] as const;
export type BootVerdict = (typeof bootVerdicts)[number];

/** Its answer: the lookup's, for nobody but that TPM. */
export const AttestedLookup = z.object({
  verdict: z.enum(bootVerdicts),
  /** `sealLookup`'s bytes. */
  lookup: z.base64(),
});
export type AttestedLookup = z.infer<typeof AttestedLookup>;

/** Names in a plain lookup the reason why the machine was not attested, in up to 200 characters. */
export const attestationProblemHeader = 'x-baton-attestation-problem';

/** Binds the secret that the TPM has opened to this quote: HMAC-SHA-256, hex. */
export function proveCredential(secret: Buffer, quote: Buffer): string {
  return createHmac('sha256', secret)
    .update('baton attestation')
    .update(createHash('sha256').update(quote).digest())
    .digest('hex');
}

/** AES-256-GCM by a key of the TPM's secret and the nonce: 12 bytes of IV, the text, 16 bytes of tag. */
export function sealLookup(lookup: unknown, secret: Buffer, nonce: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', lookupKey(secret, nonce), iv);
  return Buffer.concat([iv, cipher.update(JSON.stringify(lookup)), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `sealLookup` made. @throws Error when secret, nonce or bytes are others */
export function openLookup(sealed: Buffer, secret: Buffer, nonce: string): unknown {
  const decipher = createDecipheriv('aes-256-gcm', lookupKey(secret, nonce), sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return JSON.parse(Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString());
}

function lookupKey(secret: Buffer, nonce: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, Buffer.from(nonce, 'hex'), 'baton lookup', 32));
}
