const mask = '******';

/** Keys of step arguments and of what stands in them (`image_server_password`, `image_request_authorization` …); a plugin's files are long. */
const secretKey = /configdrive|password|token|secret|authorization|private_key|^plugin_files$/i;

/** Lists whose entries hold under one key what may be a secret: injected files (keys, tokens), BIOS settings. */
const secretInEntries: readonly { readonly list: RegExp; readonly key: string }[] = [
  { list: /^(inject_)?files$/, key: 'content' },
  { list: /^settings$/, key: 'value' },
];

/**
 * The value with `******` for what secret keys hold, at every depth. Ironic's conductor compares a returned step's
 * interface and name with what it sent, not its arguments.
 */
export function maskSecrets(value: unknown): unknown {
  return maskWithin(value, undefined);
}

/** @param secretHere a further key that holds a secret in this object, or in the objects of this list */
function maskWithin(value: unknown, secretHere: string | undefined): unknown {
  if (Array.isArray(value)) return value.map((each) => maskWithin(each, secretHere));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isSecret = (key === secretHere || secretKey.test(key)) && inner !== null && inner !== undefined;
      return [key, isSecret ? mask : maskWithin(inner, secretInEntries.find(({ list }) => list.test(key))?.key)];
    }),
  );
}

/** A log's text without the agent token, which virtual media puts on the kernel command line. */
export function hideTokenParameter(text: string): string {
  return text.replaceAll(/(ipa[-_]agent[-_]token=)[^\s"\\]+/gi, `$1${mask}`);
}
