import { type KeyObject, X509Certificate } from 'node:crypto';

/**
 * States of an endorsement key's certificate: `certified` by a vendor whose CA was given; `expired`, which unmakes no
 * TPM: many vendors gave ten years, and servers live longer; `unknown`, with the reason; `wrong`: it is not of that key;
 * `none`: the TPM holds none.
 */
export const certificateStates = ['certified', 'expired', 'unknown', 'wrong', 'none'] as const;
export interface CertificateCheck {
  readonly state: (typeof certificateStates)[number];
  /** A sentence's end; of a certified one the name of its root. */
  readonly detail: string;
}

/** Roots, intermediates, and the certificate itself. */
const mostLinks = 6;

/**
 * Checks an endorsement key's certificate against vendors' CAs. All of its chain must be among them, up to a root; TCG's
 * critical SubjectAltName, which names the TPM's model in a directory name, hinders nothing. Revocation is not looked at.
 * Pure.
 * @param certificate X.509, DER in base64; `null` = the TPM holds none
 * @param authorities those that the operator trusts, or the reason why they can't be read; `undefined` = none are set
 */
export function checkCertificate(
  certificate: string | null,
  endorsementKey: KeyObject,
  { authorities, now }: { readonly authorities: readonly X509Certificate[] | string | undefined; readonly now: Date },
): CertificateCheck {
  if (certificate === null) return { state: 'none', detail: 'the TPM holds no certificate of its vendor' };
  const parsed = parse(certificate);
  if (typeof parsed === 'string') return { state: 'unknown', detail: parsed };
  const key = keyOf(parsed);
  if (!key) return { state: 'unknown', detail: 'the key in its certificate is of a kind that is not understood' };
  if (!endorsementKey.equals(key)) return { state: 'wrong', detail: 'its certificate is of another endorsement key' };
  if (authorities === undefined) return { state: 'unknown', detail: "no vendors' CAs are given (BATON_TPM_CA_DIR)" };
  if (typeof authorities === 'string') return { state: 'unknown', detail: authorities };
  return followChain(parsed, authorities, now);
}

/** Several CAs may have the same name and key, as cross-signed ones do: each is followed. */
function followChain(
  certificate: X509Certificate,
  authorities: readonly X509Certificate[],
  now: Date,
  below: readonly X509Certificate[] = [],
): CertificateCheck {
  const chain = [...below, certificate];
  if (below.length > 0 && isIssuer(certificate, certificate)) return judgeDates(chain, now);
  if (chain.length === mostLinks)
    return { state: 'unknown', detail: `its chain has more than ${mostLinks} certificates` };
  const checks = authorities
    .filter((authority) => isIssuer(authority, certificate))
    .map((authority) => followChain(authority, authorities, now, chain));
  const missing = `its issuer is not among the CAs that are given: ${nameOf(certificate.issuer)}`;
  return (
    checks.find(({ state }) => state === 'certified') ??
    checks.find(({ state }) => state === 'expired') ??
    checks.at(-1) ?? { state: 'unknown', detail: missing }
  );
}

/** Whether one CA has signed the other certificate; a name alone is nothing. */
function isIssuer(authority: X509Certificate, of: X509Certificate): boolean {
  if (!authority.ca || !of.checkIssued(authority)) return false;
  const key = keyOf(authority);
  return key !== undefined && of.verify(key);
}

function judgeDates(chain: readonly X509Certificate[], now: Date): CertificateCheck {
  const root = nameOf(chain.at(-1)?.subject ?? '');
  const early = chain.filter(({ validFromDate }) => validFromDate > now);
  if (early.length > 0) {
    const each = early.map((one) => `${nameOf(one.subject)} is valid from ${one.validFromDate.toISOString()} on`);
    return { state: 'unknown', detail: each.join('; ') };
  }
  const late = chain.filter(({ validToDate }) => validToDate < now);
  if (late.length > 0) {
    const each = late.map((one) => `until ${one.validToDate.toISOString()}: ${nameOf(one.subject)}`);
    return { state: 'expired', detail: [root, ...each].join('; ') };
  }
  return { state: 'certified', detail: root };
}

/** One line of printable characters: names are the machine's words. */
function nameOf(subject: string | undefined): string {
  const line = (subject ?? '')
    .split('\n')
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?');
  return (line || 'a certificate without a name').slice(0, 200);
}

function parse(base64: string): X509Certificate | string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64'));
  } catch {
    return 'its certificate is no X.509 certificate';
  }
}

/** OpenSSL reads no keys that are marked for RSAES-OAEP alone, as old TPMs' are. */
function keyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined;
  }
}
