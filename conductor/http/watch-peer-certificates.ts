import type { KernelContext } from '#conductor/kernel/context.ts';
import { describePeerEnd } from '#conductor/model/certificate-end.ts';
import { endMs, followPeerCertificates, listPeerCertificates } from '#shared/peers/peer-certificates.ts';

/** Ends of others' certificates, as operators hear of them. */
export interface PeerCertificateWatch {
  /** Sentence for `/readyz`; `undefined` = none that was seen has ended or soon will. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
}

const lookMs = 60_000;
const dayMs = 86_400_000;
/** Peers that the sentence names. */
const named = 3;

/** Sets the metric of each kind of peer, and logs a warning once a day for each peer that is in trouble. */
export function watchPeerCertificates({
  clock,
  log,
  metrics,
}: Pick<KernelContext, 'clock' | 'log' | 'metrics'>): PeerCertificateWatch & { readonly look: () => void } {
  const unfollow = followPeerCertificates();
  const warnedAt = new Map<string, number>();
  const troubles = (): string[] =>
    listPeerCertificates().flatMap((certificate) => describePeerEnd(certificate, clock.now()) ?? []);
  const look = (): void => {
    const now = clock.now();
    metrics.peerTlsNotAfter.reset();
    // the first of a kind is the first to end
    for (const certificate of listPeerCertificates().toReversed()) {
      metrics.peerTlsNotAfter.set({ peer: certificate.kind }, endMs(certificate) / 1000);
      const { origin } = certificate;
      const words = describePeerEnd(certificate, now);
      if (words === undefined) warnedAt.delete(origin);
      else if (now.getTime() - (warnedAt.get(origin) ?? Number.NEGATIVE_INFINITY) >= dayMs) {
        warnedAt.set(origin, now.getTime());
        log.warn({ peer: origin, kind: certificate.kind }, words);
      }
    }
  };
  const timer = setInterval(look, lookMs);
  timer.unref();
  return {
    look,
    trouble: () => {
      const all = troubles();
      if (all.length === 0) return undefined;
      const more = all.length > named ? `; and ${all.length - named} more` : '';
      return `${all.slice(0, named).join('; ')}${more}`;
    },
    close: () => {
      clearInterval(timer);
      unfollow();
    },
  };
}
