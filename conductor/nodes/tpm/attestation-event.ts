import type { WebhookEvent } from '#conductor/kernel/outbox.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** Composes the event that webhooks get when something is new about a node's TPM. Pure. */
export function attestationEvent(about: {
  /** null = no boot was attested before. */
  readonly from: BootVerdict | null;
  readonly verdict: BootVerdict;
  /** Sentences. */
  readonly reasons: readonly string[];
  /** Fingerprint. */
  readonly tpm: string;
  /** It is another TPM than the node's. */
  readonly another: boolean;
  /** Person who has accepted it; absent = it has booted. */
  readonly acceptedBy?: string | null;
}): WebhookEvent {
  const { from, verdict, reasons, tpm, another, acceptedBy = null } = about;
  return {
    type: 'node.attestation',
    data: { from, verdict, reasons: [...reasons], tpm, another, accepted_by: acceptedBy },
  };
}
