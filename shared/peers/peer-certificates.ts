import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { TLSSocket } from 'node:tls';
import type { PeerKind } from '#shared/peers/peer-limits.ts';

/**
 * Ends of the certificates by which others are trusted (BMCs, switches, image servers …), as each TLS connection shows
 * them. A certificate that nobody checks, or that is pinned by its fingerprint, may end: it is not kept.
 */

/** One peer's certificate. */
export interface PeerCertificate {
  /** `https://192.0.2.1:443`, without anything that a URL may hold beside. */
  readonly origin: string;
  readonly kind: PeerKind;
  /** Its end; `expired` = the connection was refused because of it. */
  readonly end: Date | 'expired';
}

/** Peers that are kept: those seen last. */
const mostPeers = 20_000;

const kinds = new Map<string, PeerKind>();
const certificates = new Map<string, PeerCertificate>();

/** Notes which kind of peer answers there. */
export function notePeerKind(kind: PeerKind, url: URL | string): void {
  const { origin, protocol } = new URL(url);
  if (protocol !== 'https:' || kinds.get(origin) === kind) return;
  put(kinds, origin, kind);
}

/** Certificates seen, the first to end first; expired ones before. */
export function listPeerCertificates(): PeerCertificate[] {
  return [...certificates.values()].sort((a, b) => endMs(a) - endMs(b));
}

/** Finds the certificate that was seen there last. @param url of anything on the peer */
export function findPeerCertificate(url: string): PeerCertificate | undefined {
  return URL.canParse(url) ? certificates.get(new URL(url).origin) : undefined;
}

export const endMs = ({ end }: PeerCertificate): number => (end === 'expired' ? 0 : end.getTime());

/** Forgets all; for tests. */
export function forgetPeerCertificates(): void {
  kinds.clear();
  certificates.clear();
}

/** The parts of undici's messages that are used (its docs/api/DiagnosticsChannel). */
interface Connected {
  readonly connectParams: { readonly protocol: string; readonly host: string };
  readonly socket?: unknown;
  readonly error?: unknown;
}

/** Follows every HTTPS connection of this process. @returns what ends it */
export function followPeerCertificates(): () => void {
  const onConnected = (message: unknown): void => {
    const { connectParams, socket } = message as Connected;
    if (!(socket instanceof TLSSocket) || !socket.authorized) return;
    const end = socket.getPeerX509Certificate()?.validToDate;
    if (end) keep(connectParams, end);
  };
  const onError = (message: unknown): void => {
    const { connectParams, error } = message as Connected;
    if (error instanceof Error && 'code' in error && error.code === 'CERT_HAS_EXPIRED') keep(connectParams, 'expired');
  };
  subscribe('undici:client:connected', onConnected);
  subscribe('undici:client:connectError', onError);
  return () => {
    unsubscribe('undici:client:connected', onConnected);
    unsubscribe('undici:client:connectError', onError);
  };
}

function keep({ protocol, host }: Connected['connectParams'], end: Date | 'expired'): void {
  const { origin } = new URL(`${protocol}//${host}`);
  const kind = kinds.get(origin);
  if (kind !== undefined) put(certificates, origin, { origin, kind, end });
}

/** Puts it at the end, where those seen last stand. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= mostPeers) break;
    map.delete(oldest);
  }
}
