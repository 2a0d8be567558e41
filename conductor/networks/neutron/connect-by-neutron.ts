import { setTimeout as sleep } from 'node:timers/promises';
import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import type { SwitchPortPlacement } from '#conductor/networks/connect-node.ts';
import type { Destination, NetworkPort } from '#conductor/networks/network-interfaces.ts';
import {
  type Binding,
  bindingOf,
  isBoundAs,
  type NeutronGroup,
  neutronFaults,
} from '#conductor/networks/neutron/binding.ts';
import {
  createNeutronClient,
  type NeutronClient,
  type NeutronNetwork,
  type NeutronPort,
} from '#conductor/networks/neutron/neutron-client.ts';
import { type KnownVif, neutronNetworkData } from '#conductor/networks/neutron/neutron-network-data.ts';
import type { NeutronSettings } from '#conductor/networks/neutron/neutron-settings.ts';
import { readVifs } from '#conductor/networks/neutron/read-vifs.ts';
import { placeVifs, type Vif } from '#conductor/networks/place-vifs.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** Ironic's `neutron` network interface: ports of Neutron are bound to a node's, and Neutron's drivers set the switches. */
export interface NeutronConnector {
  /**
   * Puts the node's ports where they are to be. It keeps nothing: what an earlier try, or a conductor that was lost, has made
   * is found by the node's UUID, and taken over or removed. Safe to repeat.
   * @throws AppError `invalid_argument`, `not_found`, `switch_error` for a port that can't be bound, `timeout`, `unavailable`
   */
  connect(request: NeutronRequest): Promise<SwitchPortPlacement[]>;
  /** @throws AppError `not_found` */
  findVif(id: string, signal?: AbortSignal): Promise<NeutronVif>;
  /**
   * What an instance learns of its links, as `network_data`; nothing is bound.
   * @throws AppError `not_found`, `invalid_argument`, `timeout`
   */
  networkData(request: NeutronRequest): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Before the node is forgotten: VIFs stay as they are. */
  removeOwn(nodeUuid: string): Promise<void>;
  close(): Promise<void>;
}

export interface NeutronRequest {
  readonly nodeUuid: string;
  readonly ports: readonly NetworkPort[];
  readonly groups: readonly NeutronGroup[];
  readonly destination: Destination;
  readonly signal?: AbortSignal | undefined;
}

export interface NeutronVif {
  readonly id: string;
  readonly physicalNetwork: string | undefined;
  readonly project: string | undefined;
}

/** A port of Neutron as it is to be: one of Baton's own in a network, or a VIF that somebody has made. */
interface WantedPort extends Binding {
  readonly ports: readonly NetworkPort[];
  readonly of: { readonly network: NeutronNetwork; readonly name: string } | { readonly vif: string };
}

/** How long a binding may take, how often it is looked at, and how long a request may read VIFs. Milliseconds. */
const defaultPace = { pollMs: 1000, waitMs: 300_000, readMs: 30_000 };

const deviceOwner = 'baremetal:none';

/** Ports that Baton has made for the node. The name alone says nothing: a tenant may name a VIF so. */
const isOwn = (port: NeutronPort, nodeUuid: string): boolean =>
  port.name.startsWith('baton ') && port.device_owner === deviceOwner && port.device_id === nodeUuid;

export function createNeutronConnector(settings: NeutronSettings, pace = defaultPace): NeutronConnector {
  const client = createNeutronClient(settings);
  const findVif = async (id: string, signal?: AbortSignal): Promise<NeutronVif> => {
    const port = await client.getPort(id, signal);
    return vifOf({ port, network: await client.findNetwork(port.network_id, signal) });
  };
  const wantedOf = async (request: NeutronRequest): Promise<WantedPort[]> => {
    const { destination, signal } = request;
    if (destination === 'isolated') return [];
    if ('networks' in destination) {
      throw new AppError(
        'not_supported',
        'network interface neutron sets switch ports by flows alone: Neutron has the switches',
      );
    }
    const { purpose, vifs = [] } = destination;
    if (purpose === 'tenant')
      return wantedVifs(request, vifs, await Promise.all(vifs.map(({ id }) => findVif(id, signal))));
    return ownPorts(request, purpose, await client.findNetwork(settings.networks[purpose], signal));
  };
  return {
    findVif,
    networkData: async (request) => {
      const { destination, groups, signal } = request;
      if (destination === 'isolated' || !('purpose' in destination) || destination.purpose !== 'tenant')
        return undefined;
      const { vifs = [] } = destination;
      const limit = AbortSignal.timeout(pace.readMs);
      const ids = vifs.map(({ id }) => id);
      const read = await readVifs(client, ids, signal ? AbortSignal.any([signal, limit]) : limit).catch(
        (cause: unknown) => {
          if (!limit.aborted || signal?.aborted) throw cause;
          throw new AppError('timeout', `read VIFs of Neutron: not done after ${pace.readMs / 1000} s`, { cause });
        },
      );
      const wanted = wantedVifs(request, vifs, read.map(vifOf));
      return neutronNetworkData(
        read.map((vif, index) => {
          const at = wanted[index]?.ports ?? [];
          return { ...vif, at, group: groupOf(at, groups) };
        }),
      );
    },
    connect: async (request) => {
      const { nodeUuid, ports, signal } = request;
      const faults = neutronFaults(ports);
      if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '), { details: { faults } });
      const wanted = await wantedOf(request);
      const mine = (await client.listPorts({ device_id: nodeUuid }, signal)).filter((port) => isOwn(port, nodeUuid));
      const bound = (await client.listPorts({ 'binding:host_id': nodeUuid }, signal)).filter(
        ({ id }) => !mine.some((each) => each.id === id),
      );
      for (const port of mine.filter((each) => !wanted.some((one) => isFor(one, each)))) {
        await client.deletePort(port.id, signal);
      }
      for (const port of bound.filter((each) => !wanted.some((one) => isFor(one, each))))
        await unbind(client, port, signal);
      const set: [WantedPort, string][] = [];
      for (const each of wanted) set.push([each, await bind(client, nodeUuid, each, [...mine, ...bound], signal)]);
      for (const [each, id] of set) await waitUntilActive(client, each, id, pace, signal);
      const placeOf = (port: NetworkPort): string | null => {
        const at = wanted.find((each) => each.ports.includes(port));
        if (!at) return null;
        return 'vif' in at.of ? at.of.vif : settings.networks[purposeOf(request.destination)];
      };
      return ports.filter(isConnected).map((port) => ({ port, network: placeOf(port), vlan: null, bond: null }));
    },
    removeOwn: async (nodeUuid) => {
      for (const port of await client.listPorts({ device_id: nodeUuid }))
        if (isOwn(port, nodeUuid)) await client.deletePort(port.id);
    },
    close: () => client.close(),
  };
}

function vifOf({ port, network }: Pick<KnownVif, 'port' | 'network'>): NeutronVif {
  const physical = network['provider:physical_network'] ?? network.segments?.[0]?.['provider:physical_network'];
  return { id: port.id, physicalNetwork: physical ?? undefined, project: port.project_id ?? undefined };
}

const isConnected = ({ localLinkConnection }: NetworkPort): boolean => Object.keys(localLinkConnection).length > 0;

function purposeOf(destination: Destination): Exclude<NetworkPurpose, 'tenant'> {
  return destination !== 'isolated' && 'purpose' in destination && destination.purpose === 'cleaning'
    ? 'cleaning'
    : 'provisioning';
}

/** For the ramdisk: a port for each that boots from the network. */
function ownPorts({ nodeUuid, ports }: NeutronRequest, purpose: NetworkPurpose, network: NeutronNetwork): WantedPort[] {
  return ports
    .filter((port) => port.pxeEnabled)
    .map((port) => ({
      ...bindingOf(nodeUuid, [port], undefined),
      ports: [port],
      of: { network, name: `baton ${purpose} ${port.address}` },
    }));
}

function wantedVifs(
  { nodeUuid, ports, groups }: NeutronRequest,
  vifs: readonly Vif[],
  found: readonly NeutronVif[],
): WantedPort[] {
  const networks = found.map(({ id, physicalNetwork }) => ({ name: id, physicalNetwork }));
  const { networks: places, faults } = placeVifs(vifs, ports.filter(isConnected), networks, 'takes one');
  if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '), { details: { faults } });
  return vifs.map(({ id }) => {
    const at = ports.filter(({ uuid }) => places.get(uuid) === id);
    return { ...bindingOf(nodeUuid, at, groupOf(at, groups)), ports: at, of: { vif: id } };
  });
}

const groupOf = (at: readonly NetworkPort[], groups: readonly NeutronGroup[]): NeutronGroup | undefined =>
  at.length > 1 ? groups.find(({ uuid }) => uuid === at[0]?.portgroupUuid) : undefined;

function isFor({ of, address, body }: WantedPort, port: NeutronPort): boolean {
  if ('vif' in of) return of.vif === port.id;
  if (!isOwn(port, body['binding:host_id']) || of.network.id !== port.network_id) return false;
  return port.mac_address.toLowerCase() === address.toLowerCase();
}

/** Answers the port's id. */
async function bind(
  client: NeutronClient,
  nodeUuid: string,
  wanted: WantedPort,
  known: readonly NeutronPort[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const { of, address, body } = wanted;
  const found = known.find((port) => isFor(wanted, port));
  if ('vif' in of) {
    if (found && isBoundAs(found, wanted)) return of.vif;
    // a bound port keeps its address
    if (found) await client.updatePort(of.vif, { 'binding:host_id': '', 'binding:profile': {} }, signal);
    await client.updatePort(of.vif, { ...body, mac_address: address }, signal);
    return of.vif;
  }
  const port = found ?? (await createOwn(client, nodeUuid, { network: of.network, name: of.name, address }, signal));
  if (!isBoundAs(port, wanted)) {
    await client.updatePort(port.id, body, signal);
  }
  return port.id;
}

async function createOwn(
  client: NeutronClient,
  nodeUuid: string,
  { network, name, address }: { readonly network: NeutronNetwork; readonly name: string; readonly address: string },
  signal: AbortSignal | undefined,
): Promise<NeutronPort> {
  const create = (): Promise<NeutronPort> =>
    client.createPort(
      {
        network_id: network.id,
        mac_address: address,
        name,
        device_id: nodeUuid,
        device_owner: deviceOwner,
        admin_state_up: true,
        'binding:vnic_type': 'baremetal',
      },
      signal,
    );
  try {
    return await create();
  } catch (error) {
    // a VIF that was unbound, by a conductor that was lost before it gave the address back
    const held = await client.listPorts({ network_id: network.id, mac_address: address }, signal);
    const unbound = held.filter((port) => port['binding:host_id'] === '' && port['binding:vif_type'] === 'unbound');
    if (errorCode(error) !== 'switch_error' || unbound.length === 0) throw error;
    for (const { id } of unbound) await client.updatePort(id, { mac_address: null }, signal);
    return create();
  }
}

/** Its address is the machine's while it is bound; Neutron makes another. */
async function unbind(client: NeutronClient, { id }: NeutronPort, signal: AbortSignal | undefined): Promise<void> {
  for (const change of [{ 'binding:host_id': '', 'binding:profile': {} }, { mac_address: null }]) {
    try {
      await client.updatePort(id, change, signal);
    } catch (error) {
      // its owner has deleted it
      if (errorCode(error) !== 'not_found') throw error;
    }
  }
}

async function waitUntilActive(
  client: NeutronClient,
  { ports, body }: WantedPort,
  id: string,
  { pollMs, waitMs }: typeof defaultPace,
  signal: AbortSignal | undefined,
): Promise<void> {
  const what = `port ${id} of Neutron to ${ports.map(({ address }) => address).join(', ')} at ${JSON.stringify(body['binding:profile'].local_link_information)}`;
  const deadline = Date.now() + waitMs;
  for (;;) {
    const port = await client.getPort(id, signal);
    if (port['binding:vif_type'] === 'binding_failed') {
      throw new AppError(
        'switch_error',
        `Neutron failed to bind ${what}: its log says why; compare switch_id and port_id`,
      );
    }
    if (port.status === 'ACTIVE') return;
    if (Date.now() > deadline) {
      throw new AppError('timeout', `bind ${what}: it is ${port.status} after ${waitMs / 1000} s, not ACTIVE`);
    }
    await sleep(pollMs, undefined, { signal }).catch((cause: unknown) => {
      throw new AppError('aborted', `bind ${what}: stopped`, { cause });
    });
  }
}
