import { BlockList, isIP } from 'node:net';

/** Addresses in `192.0.2.0/24`, `192.0.2.7`, `2001:db8::/32`. */
export interface AddressRanges {
  has(address: string): boolean;
  readonly size: number;
}

/** @returns what is no range, for the caller to name, or the ranges. */
export function parseAddressRanges(entries: readonly string[]): AddressRanges | { readonly wrong: string } {
  const list = new BlockList();
  for (const entry of entries) {
    const range = parseRange(entry);
    if (!range) return { wrong: entry };
    list.addSubnet(range.address, range.prefix, range.family);
  }
  return { has: (address) => isIn(list, address), size: entries.length };
}

export function isAddressRange(entry: string): boolean {
  return parseRange(entry) !== undefined;
}

/** The address in a URL's host, without brackets; `undefined` for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? undefined : bare;
}

/** A host as it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Whether only this host's users reach what listens there. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && isLoopbackAddress(host));
}

/** `127.0.0.0/8`, `::1`, and the former written as IPv6. */
export function isLoopbackAddress(address: string): boolean {
  return isIn(loopback, address);
}

/** Never a machine that somebody means: link-local (clouds' metadata services among it), multicast, "this network". */
export function isUnreachableAddress(address: string): boolean {
  return isIn(nowhere, address);
}

const loopback = blockList(['127.0.0.0/8', '::1/128']);
const nowhere = blockList([
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'ff00::/8',
  // metadata services outside link-local: Alibaba's and AWS's
  '100.100.100.200/32',
  'fd00:ec2::254/128',
]);

function blockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const range = parseRange(entry);
    if (range) list.addSubnet(range.address, range.prefix, range.family);
  }
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  // the zone of `fe80::1%eth0` says on which network, not which address
  const [bare = ''] = address.split('%');
  const family = isIP(bare);
  return family !== 0 && list.check(bare, family === 6 ? 'ipv6' : 'ipv4');
}

function parseRange(
  entry: string,
): { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' } | undefined {
  const [address = '', prefixText, ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return undefined;
  const bits = family === 6 ? 128 : 32;
  const prefix = prefixText === undefined ? bits : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1;
  if (prefix < 0 || prefix > bits) return undefined;
  return { address, prefix, family: family === 6 ? 'ipv6' : 'ipv4' };
}
