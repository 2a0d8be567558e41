import { afterEach, beforeEach } from 'vitest';
import {
  createNeutronConnector,
  type NeutronConnector,
  type NeutronLook,
} from '#conductor/networks/neutron/connect-by-neutron.ts';
import type { NeutronSettings } from '#conductor/networks/neutron/neutron-settings.ts';
import type { Destination, NetworkPort } from '#conductor/networks/vifs/network-port.ts';
import { type SimulatedNeutron, startSimulatedNeutron } from '#test/simulators/neutron.ts';

/** A node with two ports and a group, and a Neutron that is new for each test. */

export const nodeUuid = '6a3f6a0e-3a5b-4d0c-8d0f-0a8f0c5d9b11';

export const group = {
  uuid: 'g1',
  name: 'bond0',
  address: '52:54:00:00:00:99',
  mode: '802.3ad',
  properties: { miimon: 100, bond_lacp_rate: 'fast' },
};

export const port = (index: number, changes: Partial<NetworkPort> = {}): NetworkPort => ({
  uuid: `port-${index}`,
  address: `52:54:00:00:00:0${index}`,
  pxeEnabled: index === 1,
  portgroupUuid: null,
  physicalNetwork: null,
  localLinkConnection: { switch_id: 'leaf1', port_id: `Ethernet${index}`, switch_info: 'leaf1' },
  ...changes,
});
export const twoPorts = [port(1), port(2)];
export const bonded = [port(1, { portgroupUuid: 'g1' }), port(2, { portgroupUuid: 'g1' })];

export const tenant = (...ids: string[]): Destination => ({
  purpose: 'tenant',
  vifs: ids.map((id) => ({ id, portUuid: null, portgroupUuid: null })),
});

export interface NeutronWorld {
  readonly neutron: SimulatedNeutron;
  /** Another conductor's; closed after the test. */
  connectTo(changes?: Partial<NeutronSettings>): NeutronConnector;
  go(
    destination: Destination,
    ports?: readonly NetworkPort[],
    by?: NeutronConnector,
  ): ReturnType<NeutronConnector['connect']>;
  look(destination: Destination, ports?: readonly NetworkPort[]): Promise<NeutronLook[]>;
  networkData(vifs: readonly string[], ports?: readonly NetworkPort[]): ReturnType<NeutronConnector['networkData']>;
  allPorts(): ReturnType<SimulatedNeutron['addPort']>[];
  networkId(name: string): string;
  /** Lists Neutron's ports of a network, as `MAC status vif_type`. */
  inNetwork(name: string): string[];
}

/** To be called once in a test's file. */
export function neutronWorld(): NeutronWorld {
  const state: { neutron?: SimulatedNeutron; connector?: NeutronConnector } = {};
  const connectors: NeutronConnector[] = [];
  const neutron = (): SimulatedNeutron => must(state.neutron);
  const connectTo = (changes: Partial<NeutronSettings> = {}): NeutronConnector => {
    const networks = { provisioning: 'provision-net', cleaning: 'clean-net' };
    const settings = { url: neutron().url, caFile: undefined, keystone: undefined, networks, ...changes };
    const made = createNeutronConnector(settings, { pollMs: 1, waitMs: 2000, readMs: 30_000 });
    connectors.push(made);
    return made;
  };
  beforeEach(async () => {
    state.neutron = await startSimulatedNeutron();
    for (const name of ['provision-net', 'clean-net']) state.neutron.addNetwork(name, 'physnet1');
    state.connector = connectTo();
  });
  afterEach(async () => {
    for (const each of connectors.splice(0)) await each.close();
    await state.neutron?.stop();
  });
  const requestOf = (destination: Destination, ports: readonly NetworkPort[]) => ({
    nodeUuid,
    ports,
    groups: [group],
    destination,
  });
  const allPorts = () => [...neutron().state.ports.values()];
  const networkId = (name: string): string =>
    must([...neutron().state.networks.values()].find((each) => each.name === name)).id;
  return {
    get neutron() {
      return neutron();
    },
    connectTo,
    go: (destination, ports = twoPorts, by = must(state.connector)) => by.connect(requestOf(destination, ports)),
    look: (destination, ports = twoPorts) => must(state.connector).look(requestOf(destination, ports), 30_000),
    networkData: (vifs, ports = twoPorts) => must(state.connector).networkData(requestOf(tenant(...vifs), ports)),
    allPorts,
    networkId,
    inNetwork: (name) =>
      allPorts()
        .filter((each) => each.network_id === networkId(name))
        .map((each) => `${each.mac_address} ${each.status} ${each['binding:vif_type']}`),
  };
}

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('there is none');
  return value;
}
