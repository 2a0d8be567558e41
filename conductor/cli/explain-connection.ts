import { AppError } from '#shared/errors/app-error.ts';

const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Why no connection came to be, in words, where OpenSSL has only numbers and a server that is asked without TLS only hangs
 * up; any other error as it is. Pure.
 * @param url of the conductor
 */
export function explainConnection(url: string, error: unknown): unknown {
  const code = codeOf(error);
  const other = url.startsWith('https:') ? url.replace('https:', 'http:') : url.replace('http:', 'https:');
  // it has answered, in clear, to what was to begin TLS
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return new AppError('unavailable', `it speaks no TLS there: if it is a conductor, BATON_URL must be ${other}`);
  }
  // also one that ends just now does this
  if (url.startsWith('http:') && (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')) {
    return new AppError(
      'unavailable',
      `it has hung up without an answer: if it speaks TLS there, BATON_URL must be ${other}`,
    );
  }
  if (code !== undefined && untrusted.has(code)) {
    return new AppError(
      'unavailable',
      `nobody who is trusted has signed its certificate (${code}): BATON_CACERT names the file of who has, --insecure takes any`,
    );
  }
  return error;
}

/** The innermost has it. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return codeOf(error.cause) ?? (typeof code === 'string' ? code : undefined);
}
