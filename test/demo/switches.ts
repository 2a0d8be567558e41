import type { DescribedSwitchPort } from '#test/simulators/node/simulated-inventory.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';

/** The switches that the demo's machines are plugged into. */
export interface DemoSwitches {
  /** Content that `BATON_NETWORKS_FILE` is to have. */
  readonly networksFile: string;
  /** Where a machine is plugged in; counted from 0. */
  readonly portOf: (machine: number) => DescribedSwitchPort;
  readonly names: readonly string[];
  close(): Promise<void>;
}

/** The name of the stored credential by which the conductor logs in, and what it holds. */
export const switchCredential = { name: 'leafs', account: { username: 'baton', password: 'correct horse' } } as const;

const portsOfSwitch = 48;
const networks = { provisioning: { vlan: 100 }, cleaning: { vlan: 110 }, tenant: { vlan: 200 } };

/** Simulated Arista switches over SSH, one for each 48 machines. */
export async function startDemoSwitches(machines: number): Promise<DemoSwitches> {
  const ports = Array.from({ length: portsOfSwitch }, (_, index) => `Ethernet${index + 1}`);
  const count = Math.ceil(machines / portsOfSwitch);
  const started = await Promise.all(Array.from({ length: count }, () => startEosSwitch({ ports, vlans: [1] })));
  const switches = started.map(({ endpoint, hostKey }, index) => ({
    switch_id: switchIdOf(index),
    driver: 'eos',
    endpoint,
    credential: switchCredential.name,
    host_key: hostKey,
    ports: [`Ethernet{1-${portsOfSwitch}}`],
    create_vlans: true,
  }));
  const defaults = { provisioning: 'provisioning', cleaning: 'cleaning', tenant: 'tenant' };
  return {
    networksFile: JSON.stringify({ switches, networks, defaults }),
    portOf: (machine) => {
      const index = Math.floor(machine / portsOfSwitch);
      const portId = ports[machine % portsOfSwitch] ?? '';
      return { switchId: switchIdOf(index), portId, switchName: nameOf(index) };
    },
    names: started.map((_, index) => nameOf(index)),
    close: async () => {
      await Promise.all(started.map((each) => each.stop()));
    },
  };
}

const nameOf = (index: number): string => `leaf${String(index + 1).padStart(2, '0')}`;
const switchIdOf = (index: number): string => `00:1c:73:00:00:${index.toString(16).padStart(2, '0')}`;
