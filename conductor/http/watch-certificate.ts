import { X509Certificate } from 'node:crypto';
import type { TlsFiles } from '#conductor/http/listen.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';

/** The end of the API's certificate, as operators hear of it. */
export interface CertificateWatch {
  /** Sentence for `/readyz` from 14 days before the end on; `undefined` = all is well. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
}

const dayMs = 86_400_000;
/** Days before the end at which operators hear of it, enough to renew it by hand; Let's Encrypt's own clients renew 30 days before. */
const hintDays = 14;

/**
 * Finds when the first certificate of a PEM file ends: an authority's between that has ended ends the chain, too. Pure.
 * @param pem one certificate or more
 */
export function endOfChain(pem: string): Date {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return new Date(Math.min(...blocks.map((block) => new X509Certificate(block).validToDate.getTime())));
}

/** Describes a certificate that has ended or soon will; `undefined` = neither. Pure. */
export function describeEnd(end: Date, now: Date): string | undefined {
  const days = Math.floor((end.getTime() - now.getTime()) / dayMs);
  const on = end.toISOString().slice(0, 10);
  const renew = 'put a new one into BATON_TLS_CERT_FILE and BATON_TLS_KEY_FILE, which are read again at once';
  if (end <= now) return `the API's certificate expired on ${on}: ${renew}`;
  if (days >= hintDays) return undefined;
  return `the API's certificate expires on ${on}, in ${days === 1 ? '1 day' : `${days} days`}: ${renew}`;
}

/** Sets the metric, and logs a warning at the start, at each change and once a day while there is trouble. */
export function watchCertificate(
  tls: Pick<TlsFiles, 'current' | 'onChange'>,
  { clock, log, metrics }: Pick<KernelContext, 'clock' | 'log' | 'metrics'>,
): CertificateWatch {
  const state = { end: endOfChain(tls.current().cert) };
  const trouble = (): string | undefined => describeEnd(state.end, clock.now());
  const report = (): void => {
    metrics.tlsNotAfter.set(state.end.getTime() / 1000);
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
