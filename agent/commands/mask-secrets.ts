const mask = '******';

/** Keys of step arguments and of what stands in them (`image_server_password`, `image_request_authorization` …). */
const secretKey = /configdrive|password|token|secret|authorization|private_key/i;

/**
 * The value with `******` for what secret keys hold, at every depth. Ironic's conductor compares a returned step's
 * interface and name with what it sent, not its arguments.
 */
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      secretKey.test(key) && inner !== null && inner !== undefined ? mask : maskSecrets(inner),
    ]),
  );
}

/** A log's text without the agent token, which virtual media puts on the kernel command line. */
export function hideTokenParameter(text: string): string {
  return text.replaceAll(/(ipa[-_]agent[-_]token=)[^\s"\\]+/gi, `$1${mask}`);
}
