/**
 * An address for messages and logs: origin and path only. Its query may be a signature that opens the image to
 * whoever reads it.
 */
export function showUrl(url: string | URL): string {
  const parsed = URL.parse(String(url));
  return parsed === null ? 'an invalid URL' : `${parsed.origin}${parsed.pathname}`;
}
