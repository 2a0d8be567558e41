import type { Json } from '#conductor/cli/shell/api-client.ts';

/** A BMC as another system describes it. */
interface NamedBmc {
  readonly address: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Its certificate is not verified there. */
  readonly isUnverified?: boolean;
}

/** The part of a node that says how its BMC is reached. */
export interface BmcFields {
  readonly driver: string;
  readonly driver_info: Json;
  readonly boot_interface?: string;
}

/** Schemes of metal3's BMC addresses that mean Redfish, without `+http` and `+https`. */
const redfishSchemes = /^(redfish|redfish-virtualmedia|redfish-uefihttp|ilo5-redfish|ilo5-virtualmedia)$/;
const dellSchemes = /^(idrac-redfish|idrac-virtualmedia)$/;
const ipmiSchemes = /^(ipmi|libvirt)$/;

/**
 * Reads a BMC's address in metal3's form (`redfish-virtualmedia+http://host:8000/redfish/v1/Systems/1`, `ipmi://host:6230`,
 * `host:623`), after baremetal-operator's docs/api.md. Pure.
 * @returns the node's fields, or why Baton can't reach such a BMC
 */
export function readBmcAddress({ address, username, password, isUnverified }: NamedBmc): BmcFields | string {
  const [, scheme = 'ipmi', insecure, rest = ''] = /^(?:([a-z0-9-]+?)(\+https?)?:\/\/)?(.*)$/i.exec(address) ?? [];
  const kind = scheme.toLowerCase();
  // a scheme without a usual port, for that one would be dropped
  const place = URL.parse(`bmc://${rest}`);
  if (!place || place.hostname === '') return `its BMC's address "${address}" is not understood`;
  if (ipmiSchemes.test(kind)) {
    const port = place.port === '' ? undefined : Number(place.port);
    const info = { ipmi_address: place.hostname.replace(/^\[(.*)\]$/, '$1'), ipmi_port: port };
    return { driver: 'ipmi', driver_info: known({ ...info, ipmi_username: username, ipmi_password: password }) };
  }
  const isDell = dellSchemes.test(kind);
  if (!isDell && !redfishSchemes.test(kind)) {
    return `Baton has no driver for ${kind}:// (Redfish and IPMI it has): give it the BMC's Redfish address`;
  }
  const info = {
    redfish_address: `${insecure?.toLowerCase() === '+http' ? 'http' : 'https'}://${place.host}`,
    redfish_system_id: /^\/?$/.test(place.pathname) ? undefined : place.pathname,
    redfish_username: username,
    redfish_password: password,
    redfish_verify_ca: isUnverified ? false : undefined,
  };
  const media = isDell ? 'idrac-redfish-virtual-media' : 'redfish-virtual-media';
  return {
    driver: isDell ? 'idrac' : 'redfish',
    driver_info: known(info),
    boot_interface: kind.endsWith('virtualmedia') ? media : kind === 'redfish-uefihttp' ? 'http' : 'ipxe',
  };
}

function known(info: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined));
}
