import { join } from 'node:path';
import { z } from 'zod';
import { run } from '#shared/process/run.ts';
import type { Accelerator } from '#test/lab/accelerator.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { startLinuxSwitch } from '#test/lab/linux-switch/start-switch.ts';
import { type LabNetwork, labAddresses, switchName } from '#test/lab/network.ts';

interface LinuxSwitchPlan {
  readonly lab: LabDirectory;
  /** Names of its ports: those of the machines. */
  readonly names: readonly string[];
  readonly accelerator: Accelerator;
  readonly report: (line: string) => void;
}

const Learned = z.array(z.object({ mac: z.string(), vlan: z.number().optional() }));
const PortVlans = z.array(z.object({ vlans: z.array(z.object({ vlan: z.number() })) }));
const sshPort = 2222;
/** In no network. Not protected: no cable leads from one of those to another. */
const dark = ['vlan_mode=trunk', 'trunks=4095'];

/**
 * Puts a Linux switch between the machines and the networks: Open vSwitch is cables from card to port then, and what is
 * beyond its trunk.
 */
export async function plugInLinuxSwitch(
  network: LabNetwork,
  { lab, names, accelerator, report }: LinuxSwitchPlan,
  cleanUp: AsyncDisposableStack,
): Promise<LabNetwork> {
  const ports = names.map((name, index) => ({ name, tap: `switch${index}` }));
  const { provisioning, tenant } = labAddresses;
  await network.plugTap('uplink', 'vlan_mode=trunk', `trunks=${provisioning.vlan},${tenant.vlan}`);
  for (const { tap } of ports) await network.plugTap(tap, ...dark);
  const linux = await startLinuxSwitch({
    directory: lab.path,
    namespace: lab.namespace,
    sshPort,
    ports,
    uplinkTap: 'uplink',
    accelerator: accelerator.kind,
    say: report,
  });
  cleanUp.defer(() => linux.stop());
  report(`a Linux switch with ports ${names.join(', ')}: ${linux.access.endpoint}, host key ${linux.hostKey}`);
  const ask = async <T>(schema: z.ZodType<T>, command: string): Promise<T> =>
    schema.parse(JSON.parse(await linux.shell(command)));
  const cable = (from: string, to: string): Promise<unknown> => {
    const flow = `priority=100,in_port=${from},actions=output:${to}`;
    return run('ovs-ofctl', ['add-flow', `unix:${join(lab.sockets, `${switchName}.mgmt`)}`, flow]);
  };
  return {
    ...network,
    switchEntry: {
      driver: 'linux',
      endpoint: linux.access.endpoint,
      username: 'root',
      key_file: linux.keyFile,
      host_key: linux.hostKey,
      ports: names,
    },
    addMachinePort: async (name) => {
      await network.plugTap(name, ...dark);
      const tap = ports.find((port) => port.name === name)?.tap ?? '';
      await cable(name, tap);
      await cable(tap, name);
    },
    portVlan: async (name) => {
      const [port] = await ask(PortVlans, `bridge -j vlan show dev ${name}`);
      return port?.vlans.map(({ vlan }) => vlan).join(',') ?? 'none';
    },
    learnedAddresses: async () =>
      (await ask(Learned, 'bridge -j fdb show br br0')).map(({ mac, vlan = 0 }) => ({ mac, vlan })),
    forgetLearnedAddresses: async () => void (await linux.shell('ip link set br0 type bridge fdb_flush')),
  };
}
