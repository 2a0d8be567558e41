import { isUtf8 } from 'node:buffer';
import type { LldpTlv } from '#shared/wire/inventory.ts';

/**
 * A switch's description of itself, under the names of Ironic's `parse-lldp` hook: `switch_chassis_id`,
 * `switch_port_id`, `switch_system_name`, `switch_mgmt_addresses`, `switch_port_untagged_vlan_id` …
 */
export type ParsedLldp = Readonly<Record<string, unknown>>;

/**
 * Reads TLVs (IEEE 802.1AB-2016 §8.5; 802.1Q annex D for 00-80-c2, 802.3 clause 79 for 00-12-0f). Those that are
 * unknown, too short or not useful are left out.
 */
export function parseLldp(tlvs: readonly LldpTlv[]): ParsedLldp {
  const parsed: Record<string, unknown> = {};
  const vlans: { id: number; name: string }[] = [];
  const addresses: string[] = [];
  for (const [type, hex] of tlvs) {
    const value = Buffer.from(hex, 'hex');
    if (type === 8) addresses.push(...managementAddress(value));
    else if (type === 127) readOrganization(value, parsed, vlans);
    else Object.assign(parsed, basicTlvs[type]?.(value));
  }
  return {
    ...parsed,
    ...(addresses.length > 0 ? { switch_mgmt_addresses: addresses } : {}),
    ...(vlans.length > 0 ? { switch_port_vlans: vlans } : {}),
  };
}

const basicTlvs: Readonly<Record<number, (value: Buffer) => Record<string, unknown> | undefined>> = {
  1: (value) => named('switch_chassis_id', readId(value, chassisForms)),
  2: (value) => named('switch_port_id', readId(value, portForms)),
  4: (value) => named('switch_port_description', readText(value)),
  5: (value) => named('switch_system_name', readText(value)),
  6: (value) => named('switch_system_description', readText(value)),
  7: (value) =>
    value.length < 4
      ? undefined
      : {
          switch_capabilities_support: capabilities(value.readUInt16BE(0)),
          switch_capabilities_enabled: capabilities(value.readUInt16BE(2)),
        },
};

type IdForm = 'text' | 'mac' | 'network address';

/** By subtype. */
const chassisForms: Readonly<Record<number, IdForm>> = {
  1: 'text',
  2: 'text',
  3: 'text',
  4: 'mac',
  5: 'network address',
  6: 'text',
  7: 'text',
};
const portForms: Readonly<Record<number, IdForm>> = {
  1: 'text',
  2: 'text',
  3: 'mac',
  4: 'network address',
  5: 'text',
  7: 'text',
};

function readId(value: Buffer, forms: Readonly<Record<number, IdForm>>): string | undefined {
  const form = forms[value[0] ?? 0];
  const rest = value.subarray(1);
  if (form === 'mac') return rest.length === 6 ? colons(rest) : undefined;
  if (form === 'network address') return networkAddress(rest);
  return form && readText(rest);
}

function readText(value: Buffer): string | undefined {
  // some switches end their texts as C does
  const text = value.toString(isUtf8(value) ? 'utf8' : 'latin1').replace(/\0+$/, '');
  return text === '' ? undefined : text;
}

function colons(bytes: Buffer): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** Reads a network address: IANA's number of the family, then the address. */
function networkAddress(value: Buffer): string | undefined {
  const address = value.subarray(1);
  if (value[0] === 1 && address.length === 4) return address.join('.');
  if (value[0] === 2 && address.length === 16) {
    const groups = (address.toString('hex').match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, ''));
    return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
  }
  return value[0] === 6 && address.length === 6 ? colons(address) : undefined;
}

function managementAddress(value: Buffer): string[] {
  const length = value[0] ?? 0;
  const address = length > 1 && value.length > length ? networkAddress(value.subarray(1, 1 + length)) : undefined;
  return address === undefined ? [] : [address];
}

const capabilityNames = [
  'Other',
  'Repeater',
  'Bridge',
  'WLAN',
  'Router',
  'Telephone',
  'DOCSIS cable device',
  'Station only',
  'C-Vlan',
  'S-Vlan',
  'TPMR',
] as const;

function capabilities(bits: number): string[] {
  return capabilityNames.filter((_, index) => (bits & (1 << index)) !== 0);
}

function readOrganization(value: Buffer, parsed: Record<string, unknown>, vlans: { id: number; name: string }[]): void {
  const kind = `${value.subarray(0, 3).toString('hex')} ${value[3]}`;
  const content = value.subarray(4);
  if (kind === '0080c2 1' && content.length >= 2) parsed['switch_port_untagged_vlan_id'] = content.readUInt16BE(0);
  if (kind === '0080c2 3' && content.length >= 3) {
    vlans.push({ id: content.readUInt16BE(0), name: readText(content.subarray(3, 3 + (content[2] ?? 0))) ?? '' });
  }
  if ((kind === '00120f 3' || kind === '0080c2 7') && content.length >= 5) {
    const status = content[0] ?? 0;
    parsed['switch_port_link_aggregation_support'] = (status & 1) !== 0;
    parsed['switch_port_link_aggregation_enabled'] = (status & 2) !== 0;
    parsed['switch_port_link_aggregation_id'] = content.readUInt32BE(1);
  }
  if (kind === '00120f 4' && content.length >= 2) parsed['switch_port_mtu'] = content.readUInt16BE(0);
}

function named(name: string, value: string | undefined): Record<string, string> | undefined {
  return value === undefined ? undefined : { [name]: value };
}
