import { isIPv6 } from 'node:net';

/** A BMC's address, which may be a host alone, as a URL; over HTTPS where it doesn't say. It need not be one that can be parsed. */
export function addressUrl(address: string): string {
  const text = address.trim();
  if (text.includes('://')) return text;
  // an address with a zone has no form in a URL
  return isIPv6(text) && !text.includes('%') ? `https://[${text}]` : `https://${text}`;
}
