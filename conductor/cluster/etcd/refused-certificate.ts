import { once } from 'node:events';
import { connect } from 'node:tls';
import { etcdError } from '#conductor/cluster/etcd/etcd-fault.ts';
import type { EtcdTls } from '#conductor/cluster/etcd/etcd-tls.ts';
import type { AppError } from '#shared/errors/app-error.ts';

/**
 * Whether a member closes connections because it does not take our certificate. With TLS 1.3 the client thinks the
 * handshake done before the server has looked at its certificate, and sees only a connection that ends: so it is tried
 * once more with TLS 1.2, where the alert is part of the handshake.
 * @returns `undefined` = it is something else, or can't be told
 */
export async function refusedCertificate(
  url: string,
  { tls, connectMs }: { readonly tls: EtcdTls | undefined; readonly connectMs: number },
): Promise<AppError | undefined> {
  if (!tls) return undefined;
  const { origin, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port || 443), ...tls, maxVersion: 'TLSv1.2', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(connectMs) });
    return undefined;
  } catch (cause) {
    const isAlert = cause instanceof Error && 'code' in cause && /ALERT/.test(String(cause.code));
    if (!isAlert || /PROTOCOL_VERSION/.test(String(cause.code))) return undefined;
    return etcdError('tls', `${origin} does not take client.crt of the cluster's tls`, cause);
  } finally {
    socket.destroy();
  }
}
