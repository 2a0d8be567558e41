import { isIPv6 } from 'node:net';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** A BMC as another system describes it. */
interface NamedBmc {
  readonly address: string;
  /** Place of the address in the other system's document, for errors: `spec.bmc.address`. */
  readonly field: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Its certificate is not verified there. */
  readonly isUnverified?: boolean;
  /** Fields of the IPMI driver that the other system has as well: `ipmi_priv_level`. */
  readonly ipmi?: Readonly<Record<string, unknown>>;
}

/** The part of a node that says how its BMC is reached. */
export interface BmcFields {
  readonly driver: string;
  readonly driver_info: Json;
  readonly boot_interface?: string;
}

/** Schemes of metal3's BMC addresses that mean Redfish, without `+http` and `+https`. */
const redfishSchemes = ['redfish', 'redfish-virtualmedia', 'redfish-uefihttp', 'ilo5-redfish', 'ilo5-virtualmedia'];
const dellSchemes = ['idrac-redfish', 'idrac-virtualmedia'];
const ipmiSchemes = ['ipmi', 'libvirt'];

/**
 * Reads a BMC's address in metal3's form (`redfish-virtualmedia+http://host:8000/redfish/v1/Systems/1`, `redfish:host`,
 * `ipmi://host:6230?privilegelevel=OPERATOR`, `host:623`), after baremetal-operator's pkg/hardwareutils/bmc. Pure.
 * @returns the node's fields, or why Baton can't reach such a BMC, with the field's name
 */
export function readBmcAddress(bmc: NamedBmc): BmcFields | string {
  const { field } = bmc;
  const address = isIPv6(bmc.address.trim()) ? `[${bmc.address.trim()}]` : bmc.address.trim();
  if (address === '') return `${field} is missing`;
  const [, scheme = 'ipmi', insecure, rest = ''] =
    /^(?:([a-z][a-z0-9-]*?)(\+[a-z]+)?:(?:\/\/|(?!\d+$)))?(.*)$/i.exec(address) ?? [];
  const kind = scheme.toLowerCase();
  const transport = insecure?.slice(1).toLowerCase();
  const known = [...redfishSchemes, ...dellSchemes, ...(transport === undefined ? ipmiSchemes : [])];
  if (!known.includes(kind) || (transport !== undefined && !/^https?$/.test(transport))) {
    return (
      `${field}: Baton has no driver for ${kind}${insecure ?? ''}:// (Redfish and IPMI it has: ${known.join(', ')}): ` +
      "give it the BMC's Redfish address, redfish://HOST/redfish/v1/Systems/ID"
    );
  }
  // a scheme without a usual port, for that one would be dropped
  const place = URL.parse(`bmc://${rest}`);
  if (!place || place.hostname === '' || place.port === '0') {
    const example =
      kind === 'ipmi' ? 'ipmi://192.0.2.9:623, [2001:db8::9]' : `${kind}://192.0.2.9/redfish/v1/Systems/1`;
    return `${field}: "${maskUrlLogins(bmc.address)}" is not understood: it must be like ${example}`;
  }
  return ipmiSchemes.includes(kind) ? readIpmi(bmc, place) : readRedfish(bmc, { kind, transport, place });
}

function readIpmi({ username, password, ipmi = {} }: NamedBmc, place: URL): BmcFields {
  const info = {
    ipmi_address: place.hostname.replace(/^\[(.*)\]$/, '$1'),
    ipmi_port: place.port === '' ? undefined : Number(place.port),
    ipmi_username: username,
    ipmi_password: password,
    ipmi_priv_level: place.searchParams.get('privilegelevel') ?? undefined,
    ...ipmi,
  };
  return { driver: 'ipmi', driver_info: givenOnly(info) };
}

interface RedfishPlace {
  readonly kind: string;
  readonly transport: string | undefined;
  readonly place: URL;
}

function readRedfish(
  { username, password, isUnverified }: NamedBmc,
  { kind, transport, place }: RedfishPlace,
): BmcFields {
  const isDell = dellSchemes.includes(kind);
  const info = {
    redfish_address: `${transport ?? 'https'}://${place.host}`,
    redfish_system_id: /^\/?$/.test(place.pathname) ? undefined : place.pathname,
    redfish_username: username,
    redfish_password: password,
    redfish_verify_ca: isUnverified ? false : undefined,
  };
  const media = isDell ? 'idrac-redfish-virtual-media' : 'redfish-virtual-media';
  return {
    driver: isDell ? 'idrac' : 'redfish',
    driver_info: givenOnly(info),
    boot_interface: kind.endsWith('virtualmedia') ? media : kind === 'redfish-uefihttp' ? 'http' : 'ipxe',
  };
}

function givenOnly(info: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined));
}
