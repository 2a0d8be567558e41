import { readEndorsementKey } from '#conductor/model/tpm/public-area.ts';
import { type CertificateCheck, checkCertificate } from '#conductor/model/tpm/verify-certificate.ts';
import { readVendorCas } from '#conductor/nodes/tpm/read-vendor-cas.ts';
import type { Clock } from '#shared/clock.ts';

/**
 * Checks the certificate of a TPM's endorsement key against the CAs that are given now.
 * @param ekPublic `TPM2B_PUBLIC`, base64
 * @param certificate DER, base64
 */
export async function checkTpm(
  { config, clock }: { readonly config: { readonly tpmCaDirectory: string | undefined }; readonly clock: Clock },
  ekPublic: string,
  certificate: string | null,
): Promise<CertificateCheck> {
  const { tpmCaDirectory: directory } = config;
  const authorities = directory === undefined ? undefined : await readVendorCas(directory);
  const { key } = readEndorsementKey(Buffer.from(ekPublic, 'base64'));
  return checkCertificate(certificate, key, { authorities, now: clock.now() });
}
