/** Whether a connection has failed for a server's certificate: waiting would not mend that. */
export function isUntrusted(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /SELF_SIGNED|UNABLE_TO_|^CERT_|ALTNAME/.test(code);
}
