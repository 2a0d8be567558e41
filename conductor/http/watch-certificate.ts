import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import type { TlsFiles } from '#conductor/http/listen.ts';
import type { CertificateWatch } from '#conductor/http/routing/context.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { describeEndOn } from '#conductor/model/certificate-end.ts';

const dayMs = 86_400_000;

/** PEM labels of certificates that OpenSSL reads, and Node with it (openssl-format-options: PEM). */
const blocks = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[\s\S]+?-----END \1-----/g;

/**
 * Finds when the first certificate of a PEM file ends: an authority's between that has ended ends the chain, too. Roots do
 * not count, whose copy in the file no client goes by: a self-signed one, and one that is cross-signed, of name and key of
 * a root that Node brings along. Pure.
 * @param pem one certificate or more, the API's own first
 * @returns `undefined` where the file can't be understood: its end is not known
 */
export function endOfChain(pem: string): Date | undefined {
  const chain = readChain(pem);
  const ends = chain?.filter((each, place) => place === 0 || !isRoot(each)).map((each) => each.validToDate.getTime());
  if (!ends || ends.length === 0 || ends.some((end) => !Number.isFinite(end))) return undefined;
  return new Date(Math.min(...ends));
}

function readChain(pem: string): X509Certificate[] | undefined {
  try {
    return (pem.match(blocks) ?? []).map((block) => new X509Certificate(block));
  } catch {
    return undefined; // Node's TLS has its own word on it
  }
}

function isRoot({ subject, issuer, publicKey }: X509Certificate): boolean {
  if (subject === issuer) return true;
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    return root.subject === subject && root.publicKey.equals(publicKey);
  });
}

const unknownEnd =
  "when the API's certificate expires is not known: BATON_TLS_CERT_FILE has no certificate that can be read for it";

/** Describes a certificate that has ended or soon will; `undefined` = neither. Pure. */
export function describeEnd(end: Date, now: Date): string | undefined {
  const said = describeEndOn(end, now);
  const renew = 'put a new one into BATON_TLS_CERT_FILE and BATON_TLS_KEY_FILE, which are read again at once';
  return said && `the API's certificate ${said}: ${renew}`;
}

/** Sets the metric, and logs a warning at the start, at each change and once a day while there is trouble. */
export function watchCertificate(
  tls: Pick<TlsFiles, 'current' | 'onChange'>,
  { clock, log, metrics }: Pick<KernelContext, 'clock' | 'log' | 'metrics'>,
): CertificateWatch {
  const state = { end: endOfChain(tls.current().cert) };
  const trouble = (): string | undefined => (state.end ? describeEnd(state.end, clock.now()) : unknownEnd);
  const report = (): void => {
    metrics.tlsNotAfter.set(state.end ? state.end.getTime() / 1000 : Number.NaN);
    const words = trouble();
    if (words !== undefined) log.warn(words);
  };
  report();
  tls.onChange(({ cert }) => {
    state.end = endOfChain(cert);
    report();
  });
  const timer = setInterval(report, dayMs);
  timer.unref();
  return { trouble, close: () => clearInterval(timer) };
}
