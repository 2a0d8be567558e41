import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Agent } from 'undici';
import { stringify } from 'yaml';
import { AppError } from '#shared/errors/app-error.ts';
import { type Accelerator, chooseAccelerator } from '#test/lab/accelerator.ts';
import { type Bmc, startIpmiBmc } from '#test/lab/bmc/ipmi-bmc.ts';
import { serveMachine } from '#test/lab/bmc/machine-control.ts';
import { startRedfishBmc } from '#test/lab/bmc/redfish-bmc.ts';
import { type ConductorClient, conductorClient } from '#test/lab/conductor-client.ts';
import { dhcpSettings, startProvisioningDhcp, startTenantDhcp } from '#test/lab/dnsmasq.ts';
import { openGate } from '#test/lab/gate.ts';
import { createLabDirectory, type LabDirectory, removeLab, sweepDeadLabs } from '#test/lab/lab-directory.ts';
import { plugInLinuxSwitch } from '#test/lab/linux-switch/plug-in.ts';
import { type LabNetwork, labAddresses, startLabNetwork, switchId } from '#test/lab/network.ts';
import type { DiskBus, Firmware, LabBoot, SecureBootKeys } from '#test/lab/qemu-arguments.ts';
import { type ConductorProcess, startConductor } from '#test/lab/run-conductor.ts';
import { createVirtualMachine, type VirtualMachine } from '#test/lab/virtual-machine.ts';
import { startWatchdog } from '#test/lab/watchdog.ts';

export interface LabNodeOptions {
  /** Default `node0`, `node1`…; a network device has it, so at most 15 characters. */
  readonly name?: string;
  readonly firmware: Firmware;
  readonly bmc: 'redfish' | 'ipmi';
  /** Default `pxe`. With `vmedia` its provisioning address is static; a lab of such nodes has no DHCP server there. */
  readonly boot?: LabBoot;
  /** It has a second card, at the switch port `NAMEb`. */
  readonly secondMac?: string;
  readonly memoryMib?: number;
  readonly cpus?: number;
  readonly disks?: readonly { readonly bus: DiskBus; readonly gib: number }[];
  /** It has a TPM 2.0, with its maker's certificate. */
  readonly tpm?: boolean;
  /** UEFI alone. Default: without Secure Boot. */
  readonly secureBoot?: SecureBootKeys;
}

/** A machine with its BMC, cabled to the switch; not known to the conductor yet. */
export interface LabNode {
  /** Also the name of its switch port. */
  readonly name: string;
  readonly machine: VirtualMachine;
  readonly bmc: Bmc;
  readonly bootInterface: string;
  /** Its address on the provisioning network, where it boots by virtual media. */
  readonly staticAddress: string | undefined;
}

export interface SiteOptions {
  readonly nodes: readonly LabNodeOptions[];
  /**
   * The switch that the machines are plugged into; default `ovs`. A Linux switch is in turn plugged into Open vSwitch.
   */
  readonly switch?: 'ovs' | 'linux';
  /** Told what is being started, as a line of text. */
  readonly report?: (line: string) => void;
  readonly ramdiskDirectory?: string;
  /** Where a DHCP server sends iPXE, to `<bootUrl>/boot/boot.ipxe`; by default there is none, but the conductor's. */
  readonly bootUrl?: string;
}

export interface LabOptions extends SiteOptions {
  readonly imagesDirectory?: string;
  /** Settings that the switch's entry in the networks file has besides. */
  readonly switchSettings?: Settings;
  /** In place of an access network, what the tenants' network is. */
  readonly tenantNetwork?: Readonly<Record<string, unknown>>;
  /** Given, or made when there is a namespace: what they name is then ended with the lab, see `LabSite.defer`. */
  readonly conductorSettings?: Settings | ((site: LabSite) => Promise<Settings>);
}

type Settings = Readonly<Record<string, string>>;

/** Switch, DHCP and machines in a namespace, and nobody yet who provisions them. */
export interface LabSite {
  readonly directory: LabDirectory;
  readonly network: LabNetwork;
  readonly accelerator: Accelerator;
  /** Connections from inside the namespace. */
  readonly gate: Agent;
  readonly nodes: readonly LabNode[];
  /** Fires when the lab is being closed: what waits for something in it must stop. */
  readonly closing: AbortSignal;
  /** Called, the last first, when the lab is closed, before what it stands on goes. */
  defer(end: () => Promise<void> | void): void;
  /** Ends and removes everything but the logs; may be called again. */
  close(): Promise<void>;
}

export interface Lab extends LabSite {
  readonly conductor: ConductorProcess;
  readonly api: ConductorClient;
}

/**
 * Brings up a whole data centre in a network namespace: switch, DHCP, conductor, machines that are off.
 * Whatever fails, nothing of it stays behind.
 */
export async function startLab(options: LabOptions): Promise<Lab> {
  const site = await startSite(options);
  try {
    const { directory, network, gate } = site;
    const { conductorSettings } = options;
    const settings = typeof conductorSettings === 'function' ? await conductorSettings(site) : conductorSettings;
    const needsDhcp = settings?.['BATON_DHCP'] === undefined && options.nodes.some(({ boot }) => boot !== 'vmedia');
    const conductor = await startConductor(directory, gate, {
      ...options,
      networksFile: writeNetworksFile(directory, network.switchEntry, options),
      settings: { ...(needsDhcp ? dhcpSettings : {}), ...settings },
    });
    site.defer(() => conductor.stop());
    options.report?.(`conductor at ${conductor.url}`);
    return { ...site, conductor, api: conductorClient(conductor.url, gate) };
  } catch (error) {
    await site.close();
    throw error;
  }
}

/** The same without a conductor, for a test that puts something else in its place. */
export async function startSite(options: SiteOptions): Promise<LabSite> {
  const report = options.report ?? (() => undefined);
  const kernel = resolve(options.ramdiskDirectory ?? 'build/ramdisk', 'vmlinuz');
  if (!existsSync(kernel))
    throw new AppError('not_found', `there is no ramdisk at ${kernel}: run npm run set-up first`);
  for (const id of await sweepDeadLabs()) report(`removed what the killed lab ${id} had left`);
  const directory = createLabDirectory();
  const cleanUp = new AsyncDisposableStack();
  const closing = new AbortController();
  cleanUp.defer(startWatchdog(directory));
  cleanUp.defer(() => removeLab(directory));
  try {
    const accelerator = await chooseAccelerator(kernel);
    report(`QEMU with ${accelerator.kind.toUpperCase()}: ${accelerator.reason}`);
    const openVswitch = await startLabNetwork(directory, cleanUp);
    const names = options.nodes.map(nameOf);
    const network =
      options.switch === 'linux'
        ? await plugInLinuxSwitch(openVswitch, { lab: directory, names, accelerator, report }, cleanUp)
        : openVswitch;
    report(`network namespace ${directory.namespace}, switch ${switchId} with VLANs 100 (provisioning), 200 (tenant)`);
    if (options.bootUrl !== undefined) startProvisioningDhcp(directory, options.bootUrl, cleanUp);
    startTenantDhcp(directory, cleanUp);
    const gate = await openGate(directory, cleanUp);
    const nodes: LabNode[] = [];
    for (const [index, node] of options.nodes.entries()) {
      nodes.push(await startNode({ directory, network, accelerator, index, options: node }, cleanUp));
    }
    return {
      directory,
      network,
      accelerator,
      gate,
      nodes,
      closing: closing.signal,
      defer: (end) => cleanUp.defer(end),
      close: () => {
        closing.abort(new AppError('aborted', 'the lab was closed'));
        return cleanUp.disposeAsync();
      },
    };
  } catch (error) {
    await cleanUp.disposeAsync();
    throw error;
  }
}

interface NodePlan {
  readonly directory: LabDirectory;
  readonly network: LabNetwork;
  readonly accelerator: Accelerator;
  readonly index: number;
  readonly options: LabNodeOptions;
}

const bootInterfaces: Readonly<Record<LabBoot, string>> = {
  pxe: 'ipxe',
  vmedia: 'redfish-virtual-media',
  http: 'http',
};

const nameOf = ({ name }: LabNodeOptions, index: number): string => name ?? `node${index}`;

async function startNode(plan: NodePlan, cleanUp: AsyncDisposableStack): Promise<LabNode> {
  const { directory, network, index, options } = plan;
  const name = nameOf(options, index);
  const byte = index.toString(16).padStart(2, '0');
  await network.addMachinePort(name);
  if (options.secondMac !== undefined) await network.addMachinePort(`${name}b`);
  const machine = createVirtualMachine(directory, {
    uuid: `b0b0cafe-0000-4000-8000-${directory.id}0000${byte}`,
    mac: `52:54:00:${directory.id.slice(0, 2)}:${directory.id.slice(2, 4)}:${byte}`,
    accelerator: plan.accelerator.kind,
    ...options,
    name,
  });
  cleanUp.defer(() => machine.close());
  const machineSocket = join(directory.sockets, `${name}.machine`);
  cleanUp.defer(await serveMachine(machine, machineSocket));
  const startBmc = options.bmc === 'ipmi' ? startIpmiBmc : startRedfishBmc;
  const address = await network.addBmcAddress(index);
  const secureBoot = options.secureBoot !== undefined;
  const bmc = await startBmc(directory, { machineName: name, machineSocket, address, secureBoot });
  cleanUp.defer(() => bmc.stop());
  const staticAddress =
    options.boot === 'vmedia' ? labAddresses.provisioning.prefix.replace(/0\/24$/, String(20 + index)) : undefined;
  return { name, machine, bmc, bootInterface: bootInterfaces[options.boot ?? 'pxe'], staticAddress };
}

function writeNetworksFile(
  directory: LabDirectory,
  entry: LabNetwork['switchEntry'],
  { switchSettings, tenantNetwork }: LabOptions,
): string {
  const file = join(directory.path, 'networks.yaml');
  const vlan = (net: { readonly vlan: number }): { vlan: number } => ({ vlan: net.vlan });
  const content = {
    switches: [{ switch_id: switchId, ...entry, ...switchSettings }],
    networks: { provisioning: vlan(labAddresses.provisioning), tenant: tenantNetwork ?? vlan(labAddresses.tenant) },
    defaults: { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'tenant' },
  };
  writeFileSync(file, stringify(content));
  return file;
}
