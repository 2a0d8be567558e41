import { isIPv6 } from 'node:net';
import { literalAddress } from '#shared/peers/address-ranges.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';

/**
 * Whether machines that boot, and their agents, may call from this address: whoever knows a MAC address could otherwise
 * take a boot's token before the machine itself does. @param address `undefined` = not known.
 */
export function isAgentAddress({ allow }: Pick<OutboundRules, 'allow'>, address: string | undefined): boolean {
  if (!allow) return true;
  return address !== undefined && allow.ranges.has(plainAddress(address));
}

/** Whether an agent that calls from this address asks to be called back at it. */
export function leadsTo(callbackUrl: string, address: string | undefined): boolean {
  const host = URL.parse(callbackUrl)?.hostname;
  const called = host === undefined ? undefined : literalAddress(host);
  return called !== undefined && address !== undefined && canonical(called) === canonical(address);
}

/** A socket for both families has IPv4 addresses in IPv6's clothes. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function canonical(address: string): string {
  const [plain = ''] = plainAddress(address).split('%');
  return isIPv6(plain) ? new URL(`http://[${plain}]`).hostname : plain;
}
