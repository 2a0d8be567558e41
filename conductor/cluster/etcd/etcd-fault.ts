import { isUntrusted } from '#conductor/cluster/cluster-faults.ts';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

/**
 * The reason that kept a member from answering as it should: no connection, or none in time; certificates that don't
 * fit; a user who may not; etcd's refusal of what can't be done now; an answer that is not etcd's.
 */
export type EtcdFault = 'unreachable' | 'tls' | 'denied' | 'refused' | 'invalid';

const codes: Readonly<Record<EtcdFault, ErrorCode>> = {
  unreachable: 'unavailable',
  tls: 'unauthorized',
  denied: 'unauthorized',
  refused: 'conflict',
  invalid: 'command_failed',
};

export function etcdError(fault: EtcdFault, message: string, cause?: unknown): AppError {
  return new AppError(codes[fault], message, { ...(cause === undefined ? {} : { cause }), details: { fault } });
}

/** Reads etcd's fault from an error; `undefined` for any other error. */
export function faultOf(error: unknown): EtcdFault | undefined {
  const fault = error instanceof AppError ? error.details['fault'] : undefined;
  return typeof fault === 'string' && fault in codes ? (fault as EtcdFault) : undefined;
}

/** Returns whether the same may succeed later without anybody's doing. */
export function mayPass(error: unknown): error is AppError {
  return error instanceof AppError && (error.retryable || faultOf(error) === 'refused');
}

/** Explains undici's and OpenSSL's errors of a request, distinguished by their codes. */
export function requestError(url: string, cause: unknown): AppError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (/^UND_ERR_.*TIMEOUT$/.test(code) || (cause instanceof Error && cause.name === 'TimeoutError'))
    return etcdError('unreachable', `${url} did not answer in time`, cause);
  if (isUntrusted(cause))
    return etcdError('tls', `${url}: its certificate does not fit ca.crt of the cluster's tls`, cause);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return etcdError('tls', `${url} does not speak TLS: it may be http://`, cause);
  if (/^ERR_(SSL|TLS|OSSL)_|^EPROTO$/.test(code))
    return etcdError('tls', `${url} does not take client.crt of the cluster's tls`, cause);
  return etcdError('unreachable', `${url} can't be reached`, cause);
}
