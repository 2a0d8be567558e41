import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { startInChroot } from '#test/interop/start-in-chroot.ts';
import type { LabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import type { SimulatedBoot, SimulatedMachine } from '#test/simulators/redfish/machine.ts';

export interface AgentMachineOptions {
  readonly name: string;
  /** Of its only network card, which stands in the lab's namespace by the machine's name. */
  readonly mac: string;
  /** Debian 13, see `debian-13.ts`. */
  readonly tree: string;
  /** What the boot script would have put on the kernel's command line. */
  readonly kernelCommandLine: string;
}

export interface AgentMachine extends SimulatedMachine {
  /** What the agent printed, over all boots. */
  readonly logFile: string;
  /** Power-ons and resets so far. */
  readonly boots: () => number;
  close(): Promise<void>;
}

/** A machine without disks whose boot from the network comes down to the start of the real ironic-python-agent. */
export async function createAgentMachine(lab: LabDirectory, options: AgentMachineOptions): Promise<AgentMachine> {
  const { name, tree } = options;
  const logName = `${name}-agent`;
  await addNetworkCard(lab, options);
  const binds = prepareMachineFiles(lab, options);
  let boot: SimulatedBoot = { device: 'none', once: false, mode: 'uefi' };
  let agent: LabProcess | undefined;
  let boots = 0;
  const powerOff = async (): Promise<void> => {
    await agent?.stop('SIGKILL');
    agent = undefined;
  };
  const powerOn = (): void => {
    if (agent?.isRunning()) return;
    const bootsFromNetwork = boot.device === 'pxe';
    if (boot.once) boot = { ...boot, device: 'none', once: false };
    boots += 1;
    // without a disk there is nothing else to boot
    const argv = bootsFromNetwork ? ['ironic-python-agent', '--debug'] : ['sleep', 'infinity'];
    agent = startInChroot(lab, { name: logName, tree, binds, argv });
  };
  return {
    logFile: join(lab.path, `${logName}.log`),
    boots: () => boots,
    getPower: () => (agent?.isRunning() ? 'on' : 'off'),
    setPower: async (action) => {
      if (action !== 'on') await powerOff();
      if (action === 'on' || action === 'reset') powerOn();
    },
    getBoot: () => boot,
    setBoot: (next) => {
      boot = next;
    },
    close: powerOff,
  };
}

/** The agent finds its card's address by asking the kernel, so a real device must have it. */
async function addNetworkCard(lab: LabDirectory, { name, mac }: AgentMachineOptions): Promise<void> {
  const ip = (...args: readonly string[]) => run('ip', ['-n', lab.namespace, ...args]);
  await ip('tuntap', 'add', 'dev', name, 'mode', 'tap');
  await ip('link', 'set', name, 'address', mac, 'arp', 'off', 'up');
}

/** The hardware, as far as the agent looks for it in files: no disks, a processor, one card of which it sees that it is a device. */
function prepareMachineFiles(lab: LabDirectory, options: AgentMachineOptions): Readonly<Record<string, string>> {
  const files = join(lab.path, `${options.name}-files`);
  const card = join(files, 'sys/class/net', options.name);
  const device = join(files, 'sys/devices/pci0000:00/0000:00:02.0');
  const driver = join(files, 'sys/bus/pci/drivers/virtio-pci');
  const cpus = join(files, 'sys/devices/system/cpu');
  for (const folder of [
    join(cpus, 'cpu0'),
    card,
    device,
    driver,
    join(files, 'sys/block'),
    join(files, 'sys/dev/block'),
  ])
    mkdirSync(folder, { recursive: true });
  symlinkSync('../../../devices/pci0000:00/0000:00:02.0', join(card, 'device'));
  symlinkSync('../../../bus/pci/drivers/virtio-pci', join(device, 'driver'));
  for (const list of ['possible', 'present', 'online']) writeFileSync(join(cpus, list), '0\n');
  writeFileSync(join(card, 'carrier'), '1\n');
  writeFileSync(join(card, 'address'), `${options.mac}\n`);
  const commandLine = join(files, 'cmdline');
  writeFileSync(commandLine, `${options.kernelCommandLine}\n`);
  return { [commandLine]: 'proc/cmdline', [join(files, 'sys')]: 'sys' };
}
