import type { BootEvent } from '#conductor/model/power-and-boot.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/** Whom dnsmasq has answered. */
export interface DhcpSighting {
  readonly mac: string;
  readonly event: BootEvent;
}

/** From the line's beginning: what clients say of themselves stands further behind. */
const line =
  /^dnsmasq-dhcp\[\d+\]: (?:\d+ )?(DHCPACK|DHCPDISCOVER|PXE)\([^)]+\) (?:(\d+\.[\d.]+) )?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?: (.*))?$/;

/**
 * What a line of dnsmasq's log says of a machine that boots: an address that it was given, that none is left, or that it
 * was told beside another server what to boot. `undefined` for all other lines. Pure.
 */
export function readDhcpLine(text: string): DhcpSighting | undefined {
  const [, kind, address, given = '', rest = ''] = line.exec(text) ?? [];
  const mac = parseMacAddress(given);
  if (mac === undefined) return undefined;
  const trouble = /^(no address available|address in use|ignored)/.exec(rest.trim())?.[0];
  if (trouble !== undefined) return { mac, event: { event: 'dhcp', detail: trouble } };
  if (kind === 'DHCPACK' && address !== undefined) return { mac, event: { event: 'dhcp', detail: address } };
  return kind === 'PXE' ? { mac, event: { event: 'dhcp', detail: 'proxy' } } : undefined;
}
