import type { NeutronPort } from '#conductor/networks/neutron/neutron-client.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

/** A port group as Ironic writes it where it binds a port of Neutron to a node's port or port group. Pure. */

export interface NeutronGroup {
  readonly uuid: string;
  readonly name: string | null;
  readonly address: string | null;
  readonly mode: string;
  /** Physical network of members that name none. */
  readonly physicalNetwork?: string | null;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface Binding {
  /** The MAC address that Neutron gets. */
  readonly address: string;
  readonly body: {
    readonly 'binding:vnic_type': 'baremetal';
    readonly 'binding:host_id': string;
    readonly 'binding:profile': BindingProfile;
    /** State of Baton's own ports; whether a VIF is enabled is its owner's choice. */
    readonly admin_state_up?: true;
  };
}

interface BindingProfile {
  readonly local_link_information: readonly Readonly<Record<string, unknown>>[];
  readonly local_group_information?: Readonly<Record<string, unknown>>;
  readonly physical_network?: string;
}

/** @param group with several ports */
export function bindingOf(nodeUuid: string, ports: readonly NetworkPort[], group: NeutronGroup | undefined): Binding {
  const physicalNetwork = ports[0]?.physicalNetwork ?? group?.physicalNetwork ?? undefined;
  return {
    address: group?.address ?? ports[0]?.address ?? '',
    body: {
      'binding:vnic_type': 'baremetal',
      'binding:host_id': nodeUuid,
      'binding:profile': {
        local_link_information: ports.map(({ localLinkConnection }) => localLinkConnection),
        ...(group === undefined ? {} : { local_group_information: groupInformation(group) }),
        ...(physicalNetwork === undefined ? {} : { physical_network: physicalNetwork }),
      },
    },
  };
}

function groupInformation({ uuid, name, mode, properties }: NeutronGroup): Record<string, unknown> {
  return { id: uuid, name, bond_mode: mode, bond_properties: bondProperties(properties) };
}

/** `{miimon}` or `{bond_miimon}` → `{bond_miimon}`. */
export function bondProperties(properties: NeutronGroup['properties']): Record<string, unknown> {
  const all = Object.entries(properties);
  return Object.fromEntries(all.map(([key, value]) => [key.startsWith('bond_') ? key : `bond_${key}`, value]));
}

/** Lists how a port differs from what it is to be: `is DOWN, not ACTIVE`; none: there is nothing to do. */
export function bindingDifferences(port: NeutronPort, { address, body }: Binding): string[] {
  if (port['binding:vif_type'] === 'binding_failed') return ['Neutron failed to bind it: binding_failed'];
  const host = port['binding:host_id'];
  if (host === '' || port['binding:vif_type'] === 'unbound') return ['is not bound'];
  const differs = (what: string, found: string, wanted: string): string[] =>
    found.toLowerCase() === wanted.toLowerCase() ? [] : [`has ${what} ${found}, not ${wanted}`];
  return [
    ...differs('binding:host_id', host, body['binding:host_id']),
    ...differs('binding:vnic_type', port['binding:vnic_type'], body['binding:vnic_type']),
    ...differs('mac_address', port.mac_address, address),
    ...profileDifference(port['binding:profile'], body['binding:profile']),
    ...(isUp(port, body) ? [] : [`is ${port.status}, not ACTIVE`]),
  ];
}

/** Also a VIF that its owner has disabled: Neutron leaves it DOWN. */
export function isUp(port: NeutronPort, body: Binding['body']): boolean {
  return port.status === 'ACTIVE' || !(port.admin_state_up || body.admin_state_up);
}

function profileDifference(found: Readonly<Record<string, unknown>>, wanted: BindingProfile): string[] {
  if (stable(found) === stable(wanted)) return [];
  return [`has binding:profile ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
}

/** Makes text that does not depend on the order of keys. */
function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${key}:${stable(each)}`).join(',')}}`;
}

/** Lists what a node's ports lack to be bound. */
export function neutronFaults(ports: readonly NetworkPort[]): string[] {
  const faults = ports
    .filter((port) => port.pxeEnabled || Object.keys(port.localLinkConnection).length > 0)
    .flatMap(({ address, localLinkConnection }) => {
      const missing = ['switch_id', 'port_id'].filter((key) => {
        const value = localLinkConnection[key];
        return typeof value !== 'string' || value === '';
      });
      if (missing.length === 0) return [];
      return [
        `port ${address}: local_link_connection lacks ${missing.join(' and ')}; it must name the switch (switch_id, as Neutron's driver knows it) and the port on it (port_id)`,
      ];
    });
  if (ports.some((port) => Object.keys(port.localLinkConnection).length > 0) || faults.length > 0) return faults;
  return [
    'no port can be bound: the node needs a port with local_link_connection {switch_id, port_id}, or network_interface noop or flat',
  ];
}
