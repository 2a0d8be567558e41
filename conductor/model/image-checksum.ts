/** A digest as hexadecimal digits, or the URL of a checksum file. */
export type ImageChecksum =
  | { readonly algorithm: 'sha256' | 'sha512'; readonly hex: string }
  | { readonly url: string };

/** The forms of a checksum, for the message about another one. */
export const checksumForms =
  'sha256: and 64 hexadecimal digits, sha512: and 128, the digits alone, or the URL of a checksum file';

/** Parses a checksum as `image add` prints it, as a checksum file has it, or as a URL; `undefined` for anything else. */
export function parseImageChecksum(given: string): ImageChecksum | undefined {
  if (/^https?:\/\/\S+$/i.test(given)) return { url: given };
  const [, named, hex = ''] = /^(?:(sha256|sha512):)?([0-9a-f]+)$/i.exec(given) ?? [];
  const algorithm = ({ 64: 'sha256', 128: 'sha512' } as const)[hex.length];
  if (algorithm === undefined || (named !== undefined && named.toLowerCase() !== algorithm)) return undefined;
  return { algorithm, hex: hex.toLowerCase() };
}
