import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import { bind, unbind, waitUntilActive } from '#conductor/networks/neutron/bind-port.ts';
import { bindingOf, type NeutronGroup, neutronFaults } from '#conductor/networks/neutron/binding.ts';
import {
  createNeutronClient,
  type NeutronClient,
  type NeutronNetwork,
  type NeutronPort,
} from '#conductor/networks/neutron/neutron-client.ts';
import { type KnownVif, neutronNetworkData } from '#conductor/networks/neutron/neutron-network-data.ts';
import type { NeutronSettings } from '#conductor/networks/neutron/neutron-settings.ts';
import {
  describeDifferences,
  describePortChange,
  isAt,
  isOwn,
  type PortChange,
  planBindings,
  portsOfChange,
  type WantedPort,
} from '#conductor/networks/neutron/plan-bindings.ts';
import { readVifs } from '#conductor/networks/neutron/read-vifs.ts';
import type { Destination, NetworkPort, SwitchPortPlacement } from '#conductor/networks/vifs/network-port.ts';
import { placeVifs, type Vif, withPhysicalNetworks } from '#conductor/networks/vifs/place-vifs.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic's `neutron` network interface: ports of Neutron are bound to a node's, and Neutron's drivers set the switches. */
export interface NeutronConnector {
  /**
   * Puts the node's ports where they are to be. It keeps nothing: what an earlier try, or a conductor that was lost, has made
   * is found by the node's UUID, and taken over or removed. Safe to repeat.
   * @throws AppError `invalid_argument`, `not_found`, `switch_error` for a port that can't be bound, `timeout`, `unavailable`
   */
  connect(request: NeutronRequest): Promise<SwitchPortPlacement[]>;
  /**
   * Finds what `connect` would ask Neutron for now, for each port that is plugged in.
   * @throws AppError as `connect`, `timeout`
   */
  look(request: NeutronRequest, withinMs: number): Promise<NeutronLook[]>;
  /** @throws AppError `not_found` */
  findVif(id: string, signal?: AbortSignal): Promise<NeutronVif>;
  /**
   * Describes an instance's links for it, as `network_data`; nothing is bound.
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

export interface NeutronLook {
  readonly port: NetworkPort;
  /** The network that Baton's own port is in, or the VIF; `null`: none. */
  readonly network: string | null;
  /** The port of Neutron that is there: its id and status. */
  readonly found: string | null;
  /** In words: `port 1f0c… is DOWN, not ACTIVE`. */
  readonly differences: readonly string[];
  /** In the words of `openstack`; what is done for several ports is said of the first. */
  readonly commands: readonly string[];
}

export interface NeutronVif {
  readonly id: string;
  /** All that its segments are on; none = it says of none. */
  readonly physicalNetwork: readonly string[];
  readonly project: string | undefined;
}

/** How long a binding may take, how often it is looked at, and how long a request may read VIFs. Milliseconds. */
const defaultPace = { pollMs: 1000, waitMs: 300_000, readMs: 30_000 };

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
  const read = async (request: NeutronRequest): Promise<{ wanted: WantedPort[]; known: NeutronPort[] }> => {
    const { nodeUuid, ports, signal } = request;
    const faults = neutronFaults(ports);
    if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '), { details: { faults } });
    const wanted = await wantedOf(request);
    const mine = (await client.listPorts({ device_id: nodeUuid }, signal)).filter((port) => isOwn(port, nodeUuid));
    const bound = await client.listPorts({ 'binding:host_id': nodeUuid }, signal);
    return { wanted, known: [...mine, ...bound.filter(({ id }) => !mine.some((each) => each.id === id))] };
  };
  const placeOf = (
    { destination }: NeutronRequest,
    wanted: readonly WantedPort[],
    port: NetworkPort,
  ): string | null => {
    const at = wanted.find((each) => each.ports.includes(port));
    if (!at) return null;
    return 'vif' in at.of ? at.of.vif : settings.networks[purposeOf(destination)];
  };
  return {
    findVif,
    networkData: (request) => readNetworkData(client, request, pace.readMs),
    connect: async (request) => {
      const { nodeUuid, ports, signal } = request;
      const { wanted, known } = await read(request);
      const set: [WantedPort, string][] = [];
      for (const change of planBindings(nodeUuid, wanted, known)) {
        if (change.kind === 'delete') await client.deletePort(change.port.id, signal);
        else if (change.kind === 'unbind') await unbind(client, change.port, signal);
        else set.push([change.wanted, await bind(client, nodeUuid, change, signal)]);
      }
      for (const [each, id] of set) await waitUntilActive(client, each, id, pace, signal);
      return ports
        .filter(isConnected)
        .map((port) => ({ port, network: placeOf(request, wanted, port), vlan: null, bond: null }));
    },
    look: async (request, withinMs) => {
      const limit = AbortSignal.timeout(withinMs);
      const { signal: stop } = request;
      const signal = stop ? AbortSignal.any([stop, limit]) : limit;
      const { wanted, known } = await read({ ...request, signal }).catch((cause: unknown) => {
        if (!limit.aborted || stop?.aborted) throw cause;
        throw new AppError('timeout', `read ports of Neutron: not done after ${withinMs / 1000} s`, { cause });
      });
      const looks = looksOf(request, planBindings(request.nodeUuid, wanted, known), known);
      return looks.map((each) => ({ ...each, network: placeOf(request, wanted, each.port) }));
    },
    removeOwn: async (nodeUuid) => {
      for (const port of await client.listPorts({ device_id: nodeUuid }))
        if (isOwn(port, nodeUuid)) await client.deletePort(port.id);
    },
    close: () => client.close(),
  };
}

function looksOf(
  { ports }: NeutronRequest,
  changes: readonly PortChange[],
  known: readonly NeutronPort[],
): Omit<NeutronLook, 'network'>[] {
  const connected = ports.filter(isConnected);
  const described = changes.map((change) => ({ change, at: portsOfChange(change, connected) }));
  return connected.map((port) => {
    const here = described.filter(({ at }) => at.includes(port));
    const bound = here.flatMap(({ change }) => (change.kind === 'bind' && change.found) || []);
    const found = bound[0] ?? known.find((each) => isAt(each, port));
    return {
      port,
      found: found ? `${found.id} ${found.status}` : null,
      differences: here.flatMap(({ change }) => describeDifferences(change)),
      commands: here.flatMap(({ change, at }) => (at[0] === port ? describePortChange(change) : [])),
    };
  });
}

async function readNetworkData(
  client: NeutronClient,
  request: NeutronRequest,
  readMs: number,
): ReturnType<NeutronConnector['networkData']> {
  const { destination, groups, signal } = request;
  if (destination === 'isolated' || !('purpose' in destination) || destination.purpose !== 'tenant') return undefined;
  const { vifs = [] } = destination;
  const limit = AbortSignal.timeout(readMs);
  const ids = vifs.map(({ id }) => id);
  const read = await readVifs(client, ids, signal ? AbortSignal.any([signal, limit]) : limit).catch(
    (cause: unknown) => {
      if (!limit.aborted || signal?.aborted) throw cause;
      throw new AppError('timeout', `read VIFs of Neutron: not done after ${readMs / 1000} s`, { cause });
    },
  );
  const wanted = wantedVifs(request, vifs, read.map(vifOf));
  return neutronNetworkData(
    read.map((vif, index) => {
      const at = wanted[index]?.ports ?? [];
      return { ...vif, at, group: groupOf(at, groups) };
    }),
  );
}

function vifOf({ port, network }: Pick<KnownVif, 'port' | 'network'>): NeutronVif {
  const physicalNetwork = [network, ...(network.segments ?? [])].flatMap(
    (segment) => segment['provider:physical_network'] ?? [],
  );
  return { id: port.id, physicalNetwork, project: port.project_id ?? undefined };
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
    .map((port) => {
      const { address, body } = bindingOf(nodeUuid, [port], undefined);
      const of = { network, name: `baton ${purpose} ${port.address}` };
      return { address, body: { ...body, admin_state_up: true }, ports: [port], of };
    });
}

function wantedVifs(
  { nodeUuid, ports, groups }: NeutronRequest,
  vifs: readonly Vif[],
  found: readonly NeutronVif[],
): WantedPort[] {
  const networks = found.map(({ id, physicalNetwork }) => ({ name: id, physicalNetwork }));
  const { networks: places, faults } = placeVifs(
    vifs,
    withPhysicalNetworks(ports.filter(isConnected), groups),
    networks,
    'takes one',
  );
  if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '), { details: { faults } });
  return vifs.map(({ id }) => {
    const at = ports.filter(({ uuid }) => places.get(uuid) === id);
    return { ...bindingOf(nodeUuid, at, groupOf(at, groups)), ports: at, of: { vif: id } };
  });
}

const groupOf = (at: readonly NetworkPort[], groups: readonly NeutronGroup[]): NeutronGroup | undefined =>
  at.length > 1 ? groups.find(({ uuid }) => uuid === at[0]?.portgroupUuid) : undefined;
