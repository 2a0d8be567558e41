import { isIPv4 } from 'node:net';

/** Identities in LLDP's TLVs as an inventory has them: `[1, "04aabbcc0a0001"]`. Pure. */

export interface TlvIdentities {
  /** Twelve digits, in small letters. */
  readonly macs: readonly string[];
  /** The whole values in which another address or serial number has to stand. */
  readonly addresses: readonly string[];
  readonly serials: readonly string[];
}

const chassisByMac = /^04([0-9a-f]{12})$/;
const portByMac = /^03([0-9a-f]{12})$/;
/** Length, then the family IPv4. */
const managementByIpv4 = /^(0501)([0-9a-f]{8})(.*)$/;
/** LLDP-MED's serial number and asset id (ANSI/TIA-1057 §10.2.6). */
const inventoryOfMed = /^(0012bb(?:08|0b))((?:[0-9a-f]{2})+)$/;

/** @param document an inventory, or what has one in it */
export function tlvIdentities(document: unknown): TlvIdentities {
  const tlvs = tlvsIn(document, false);
  const macs = tlvs.flatMap(([type, value]) => {
    const found = type === 1 ? chassisByMac.exec(value) : type === 2 ? portByMac.exec(value) : null;
    return found?.[1] ?? [];
  });
  const ofType = (wanted: number, pattern: RegExp): string[] =>
    tlvs.flatMap(([type, value]) => (type === wanted && pattern.test(value) ? [value] : []));
  return { macs, addresses: ofType(8, managementByIpv4), serials: ofType(127, inventoryOfMed) };
}

/** Returns the TLV's value with another management address. @param other gives it */
export function withOtherAddress(value: string, other: (address: string) => string): string {
  const [, head = '', digits = '', rest = ''] = managementByIpv4.exec(value) ?? [];
  const address = [...Buffer.from(digits, 'hex')].join('.');
  if (!isIPv4(address)) return value;
  return head + Buffer.from(other(address).split('.').map(Number)).toString('hex') + rest;
}

/** Returns the TLV's value with another serial number. @param other gives it */
export function withOtherSerial(value: string, other: (serial: string) => string): string {
  const [, head = '', text = ''] = inventoryOfMed.exec(value) ?? [];
  return head + Buffer.from(other(Buffer.from(text, 'hex').toString('latin1')), 'latin1').toString('hex');
}

function tlvsIn(value: unknown, isLldp: boolean): readonly (readonly [number, string])[] {
  if (Array.isArray(value)) {
    const [type, text] = value as readonly unknown[];
    if (isLldp && value.length === 2 && typeof type === 'number' && typeof text === 'string')
      return [[type, text.toLowerCase()]];
    return value.flatMap((each) => tlvsIn(each, isLldp));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]: [string, unknown]) => tlvsIn(entry, isLldp || key === 'lldp'));
}
