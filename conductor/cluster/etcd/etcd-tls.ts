import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, createSecureContext } from 'node:tls';
import { etcdError } from '#conductor/cluster/etcd/etcd-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readPrivateFile } from '#shared/private-file.ts';

/** Material that one side of mutual TLS needs, as PEM. */
export interface EtcdTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads a set of files by its name, read again for each use: they are renewed while the conductor runs.
 * @throws AppError `invalid_argument` naming the file that can't be used; never what stands in it.
 */
export async function readEtcdTls(directory: string, name: string): Promise<EtcdTls> {
  const set = join(directory, name);
  const unreadable =
    (file: string) =>
    (cause: unknown): never => {
      throw new AppError('invalid_argument', `read ${file} for TLS with etcd (BATON_ETCD_TLS_DIR)`, { cause });
    };
  const [caFile, certFile, keyFile] = ['ca.crt', 'client.crt', 'client.key'].map((file) => join(set, file)) as [
    string,
    string,
    string,
  ];
  const tls = {
    ca: await readFile(caFile, 'utf8').catch(unreadable(caFile)),
    cert: await readFile(certFile, 'utf8').catch(unreadable(certFile)),
    key: await readPrivateFile(keyFile).catch(unreadable(keyFile)),
  };
  // else an empty file would mean: whom the system trusts
  if (!tls.ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new AppError('invalid_argument', `${caFile} has no certificate in PEM`);
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw new AppError('invalid_argument', `${certFile} and ${keyFile} are not a matching pair in PEM`, { cause });
  }
  return tls;
}

/**
 * Returns whether a member closes connections because it does not take our certificate. With TLS 1.3 the client thinks the
 * handshake done before the server has looked at its certificate, and sees only a connection that ends: so it is tried once
 * more with TLS 1.2, where the alert is part of the handshake.
 * @returns `undefined` = it is something else, or not known
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
