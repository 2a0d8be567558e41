import type { PeerCertificate } from '#shared/peers/peer-certificates.ts';
import type { PeerKind } from '#shared/peers/peer-limits.ts';

const dayMs = 86_400_000;
/** Days before a certificate's end at which operators hear of it, enough to renew it by hand; Let's Encrypt's own clients renew 30 days before. */
const hintDays = 14;

/** Describes an end that has come or soon will: `expires on 2026-12-10, in 11 days`; `undefined` = neither. Pure. */
export function describeEndOn(end: Date, now: Date): string | undefined {
  const days = Math.floor((end.getTime() - now.getTime()) / dayMs);
  const on = end.toISOString().slice(0, 10);
  if (end <= now) return `expired on ${on}`;
  if (days >= hintDays) return undefined;
  return `expires on ${on}, in ${days === 1 ? '1 day' : `${days} days`}`;
}

const peers: Partial<Readonly<Record<PeerKind, string>>> = {
  bmc: 'the BMC',
  switch: 'the switch',
  image: 'the image server',
  etcd: 'the etcd member',
  kubernetes: 'the Kubernetes API',
  neutron: 'Neutron',
  webhook: 'the webhook receiver',
};

/** Describes a peer's certificate that has ended or soon will; `undefined` = neither. Pure. */
export function describePeerEnd({ origin, kind, end }: PeerCertificate, now: Date): string | undefined {
  const said = end === 'expired' ? 'has expired' : describeEndOn(end, now);
  return said && `the certificate of ${peers[kind] ?? 'the peer'} ${origin} ${said}: renew it there`;
}
