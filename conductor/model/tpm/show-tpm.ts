import { readEndorsementKey, tpmFingerprint } from '#conductor/model/tpm/public-area.ts';

/**
 * A TPM as people and other verifiers get it.
 * @param ekPublic `TPM2B_PUBLIC` of its endorsement key, base64
 * @param certificate DER, base64
 */
export function showTpm(
  ekPublic: string,
  certificate: string | null,
): { readonly fingerprint: string; readonly endorsement_key: string; readonly certificate: string | null } {
  const { key } = readEndorsementKey(Buffer.from(ekPublic, 'base64'));
  return {
    fingerprint: tpmFingerprint(ekPublic),
    endorsement_key: key.export({ format: 'pem', type: 'spki' }).toString(),
    certificate: certificate === null ? null : toPem(certificate),
  };
}

function toPem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
