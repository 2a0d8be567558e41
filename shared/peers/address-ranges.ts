import { BlockList, isIP } from 'node:net';

/** Addresses in `192.0.2.0/24`, `192.0.2.7`, `2001:db8::/32`. */
export interface AddressRanges {
  has(address: string): boolean;
  readonly size: number;
}

/** @returns what is not a range, for the caller to name, or the ranges. */
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

/** Returns the address in a URL's host, without brackets; `undefined` for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? undefined : bare;
}

/** Returns an address of a socket for both families, which has IPv4 addresses in IPv6's clothes, as IPv4 where it is. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Returns a host as it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Returns whether only this host's users reach what listens there. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && isIn(loopback, host));
}

/** Recognizes `127.0.0.0/8`, `::1`, and the former inside an IPv6 address. */
export function isLoopbackAddress(address: string): boolean {
  return isIn(loopback, embeddedIpv4(address) ?? address);
}

/**
 * Recognizes addresses that never mean a machine: link-local (clouds' metadata services among it), multicast, "this
 * network".
 */
export function isUnreachableAddress(address: string): boolean {
  return isIn(nowhere, address) || isIn(nowhere, embeddedIpv4(address) ?? address);
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
  // metadata services outside link-local: Alibaba's, Oracle's, Azure's, AWS's, Google's
  '100.100.100.200/32',
  '192.0.0.192/32',
  '168.63.129.16/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
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

/**
 * Returns the IPv4 address that a router or the kernel may make of an IPv6 one: mapped, translated (`::ffff:0:0:0/96`),
 * compatible (`::/96`), NAT64 (RFC 6052, RFC 8215), 6to4.
 */
function embeddedIpv4(address: string): string | undefined {
  const [bare = ''] = address.split('%');
  if (isIP(bare) !== 6) return undefined;
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const behind = tail === undefined ? [] : words(tail);
  const zeros = Array<number>(8 - words(head).length - behind.length).fill(0);
  const groups = [...words(head), ...zeros, ...behind];
  const dotted = (at: number): string =>
    groups
      .slice(at, at + 2)
      .flatMap((word) => [word >> 8, word & 255])
      .join('.');
  const prefix = groups.slice(0, 6).map((word) => word.toString(16));
  if (prefix[0] === '2002') return dotted(1);
  const isLocalNat64 = prefix.slice(0, 3).join(':') === '64:ff9b:1';
  const isCompatible = prefix.join(':') === '0:0:0:0:0:0' && groups[6] !== 0;
  const isOther = ['0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0'].includes(prefix.join(':'));
  return isLocalNat64 || isCompatible || isOther ? dotted(6) : undefined;
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
