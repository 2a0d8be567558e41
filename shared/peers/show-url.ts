/**
 * Shows an address in messages and logs: origin and path only, since the query may be a signature that gives access to the
 * image.
 */
export function showUrl(url: string | URL): string {
  const parsed = URL.parse(String(url));
  return parsed === null ? 'an invalid URL' : `${parsed.origin}${parsed.pathname}`;
}
