import { z } from 'zod';
import { type Binding, bindingDifferences } from '#conductor/networks/neutron/binding.ts';
import type { NeutronNetwork, NeutronPort } from '#conductor/networks/neutron/neutron-client.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

/** Plans what Neutron is to be asked for, so that a node's ports are where they are to be. Pure. */

/** A port of Neutron as it is to be: one of Baton's own in a network, or a VIF that somebody has made. */
export interface WantedPort extends Binding {
  readonly ports: readonly NetworkPort[];
  readonly of: { readonly network: NeutronNetwork; readonly name: string } | { readonly vif: string };
}

export type PortChange =
  /** A port of Baton's own. */
  | { readonly kind: 'delete'; readonly port: NeutronPort }
  /** A VIF. */
  | { readonly kind: 'unbind'; readonly port: NeutronPort }
  | { readonly kind: 'bind'; readonly wanted: WantedPort; readonly found: NeutronPort | undefined };

export const deviceOwner = 'baremetal:none';

/** Ports that Baton has made for the node. The name alone says nothing: a tenant may name a VIF so. */
export const isOwn = (port: NeutronPort, nodeUuid: string): boolean =>
  port.name.startsWith('baton ') && port.device_owner === deviceOwner && port.device_id === nodeUuid;

/**
 * In this order: what goes, then what is bound, also where that is already.
 * @param known Baton's own ports for the node, and those that are bound to it
 */
export function planBindings(
  nodeUuid: string,
  wanted: readonly WantedPort[],
  known: readonly NeutronPort[],
): PortChange[] {
  const gone = known.filter((port) => !wanted.some((each) => isFor(each, port)));
  const [own, others] = [true, false].map((mine) => gone.filter((port) => isOwn(port, nodeUuid) === mine));
  return [
    ...(own ?? []).map((port) => ({ kind: 'delete', port }) as const),
    ...(others ?? []).map((port) => ({ kind: 'unbind', port }) as const),
    ...wanted.map((each) => ({ kind: 'bind', wanted: each, found: known.find((port) => isFor(each, port)) }) as const),
  ];
}

function isFor({ of, address, body }: WantedPort, port: NeutronPort): boolean {
  if ('vif' in of) return of.vif === port.id;
  if (!isOwn(port, body['binding:host_id']) || of.network.id !== port.network_id) return false;
  return port.mac_address.toLowerCase() === address.toLowerCase();
}

/** Describes how a port differs from what it is to be, each in words; none: there is nothing to do. */
export function describeDifferences(change: PortChange): string[] {
  if (change.kind === 'delete') return [`port ${change.port.id} (${change.port.name}) is left over`];
  if (change.kind === 'unbind') return [`port ${change.port.id} is still bound to the node`];
  const { wanted, found } = change;
  if (found) return bindingDifferences(found, wanted).map((difference) => `port ${found.id} ${difference}`);
  const { of } = wanted;
  return ['vif' in of ? `VIF ${of.vif} is not bound to the node` : `network ${of.network.name} has no port for it`];
}

/** In the words of OpenStack's command line, `openstack port …`. */
export function describePortChange(change: PortChange): string[] {
  if (change.kind === 'delete') return [`port delete ${change.port.id}`];
  if (change.kind === 'unbind') return [unbinding(change.port)];
  if (describeDifferences(change).length === 0) return [];
  const { wanted, found } = change;
  const { address, body, of } = wanted;
  const what =
    'vif' in of
      ? `set ${of.vif}`
      : found
        ? `set ${found.id}`
        : `create '${of.name}' --network ${of.network.name} --device ${body['binding:host_id']} --device-owner ${deviceOwner}`;
  const profile = JSON.stringify(body['binding:profile']);
  const binding = `--host ${body['binding:host_id']} --vnic-type ${body['binding:vnic_type']} --binding-profile '${profile}'`;
  return [...(found ? [unbinding(found)] : []), `port ${what} --mac-address ${address} ${binding}`];
}

const unbinding = ({ id }: NeutronPort): string => `port set ${id} --host '' --no-binding-profile`;

/** The node's ports that a change is shown at: what is at none of them, of the first. */
export function portsOfChange(change: PortChange, ports: readonly NetworkPort[]): readonly NetworkPort[] {
  if (change.kind === 'bind') return change.wanted.ports;
  const at = ports.filter((port) => isAt(change.port, port));
  return at.length > 0 ? at : ports.slice(0, 1);
}

/** By its address, or bound to its switch port: a group's port has the group's address. */
export function isAt(port: NeutronPort, { address, localLinkConnection }: NetworkPort): boolean {
  if (port.mac_address.toLowerCase() === address.toLowerCase()) return true;
  const links = LinkInformation.safeParse(port['binding:profile']['local_link_information']).data ?? [];
  return links.some(
    (link) => link.switch_id === localLinkConnection['switch_id'] && link.port_id === localLinkConnection['port_id'],
  );
}

const LinkInformation = z.array(z.looseObject({ switch_id: z.string(), port_id: z.string() }));
