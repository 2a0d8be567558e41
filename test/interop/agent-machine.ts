import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorChain } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';
import { startInChroot } from '#test/interop/start-in-chroot.ts';
import type { LabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import type { SimulatedBoot, SimulatedMachine } from '#test/simulators/redfish/machine.ts';

export interface AgentMachineOptions {
  readonly name: string;
  /** Address of its only network card, which stands in the lab's namespace by the machine's name. */
  readonly mac: string;
  /** Debian 13, see `debian-13.ts`. */
  readonly tree: string;
  /** Asked at each boot from the network: the iPXE script that the machine is given. */
  readonly bootScript: (mac: string) => Promise<string>;
}

export interface AgentMachine extends SimulatedMachine {
  /** Output of the agent, over all boots. */
  readonly logFile: string;
  /** Power-ons and resets so far. */
  readonly boots: () => number;
  close(): Promise<void>;
}

const cardAddress = '10.100.0.40';

/** A machine without disks whose boot from the network comes down to the start of the real ironic-python-agent. */
export async function createAgentMachine(lab: LabDirectory, options: AgentMachineOptions): Promise<AgentMachine> {
  const { name, tree } = options;
  const logName = `${name}-agent`;
  await addNetworkCard(lab, options);
  const files = prepareMachineFiles(lab, options);
  const logFile = join(lab.path, `${logName}.log`);
  let boot: SimulatedBoot = { device: 'none', once: false, mode: 'uefi' };
  /** From power-on to power-off; `agent` is there once the boot script has been read. */
  let life: { agent?: LabProcess; readonly booted: Promise<void> } | undefined;
  let boots = 0;
  const isOn = (): boolean => life !== undefined && life.agent?.isRunning() !== false;
  const powerOff = async (): Promise<void> => {
    const ended = life;
    life = undefined;
    await ended?.booted;
    await ended?.agent?.stop('SIGKILL');
  };
  const bootAgent = async (bootsFromNetwork: boolean): Promise<LabProcess> => {
    const commandLine = bootsFromNetwork ? readKernelCommandLine(await options.bootScript(options.mac)) : undefined;
    writeFileSync(files.commandLine, `${commandLine ?? ''}\n`);
    // without a disk there is nothing else to boot
    const argv = commandLine === undefined ? ['sleep', 'infinity'] : ['ironic-python-agent', '--debug'];
    return startInChroot(lab, { name: logName, tree, binds: files.binds, argv });
  };
  const powerOn = (): void => {
    if (isOn()) return;
    const bootsFromNetwork = boot.device === 'pxe';
    if (boot.once) boot = { ...boot, device: 'none', once: false };
    boots += 1;
    // not awaited: a BMC answers at once
    const booted = bootAgent(bootsFromNetwork).then(
      (agent) => {
        started.agent = agent;
      },
      (error: unknown) => appendFileSync(logFile, `the machine did not boot: ${errorChain(error)}\n`),
    );
    const started: NonNullable<typeof life> = { booted };
    life = started;
  };
  return {
    logFile,
    boots: () => boots,
    getPower: () => (isOn() ? 'on' : 'off'),
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
  // while it inspects it waits a minute for each card to have one
  await ip('addr', 'add', `${cardAddress}/32`, 'dev', name);
}

/** The hardware, as far as the agent looks for it in files: no disks, a processor, one card of which it sees that it is a device. */
function prepareMachineFiles(
  lab: LabDirectory,
  options: AgentMachineOptions,
): { readonly commandLine: string; readonly binds: Readonly<Record<string, string>> } {
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
  return { commandLine, binds: { [commandLine]: 'proc/cmdline', [join(files, 'sys')]: 'sys' } };
}

/** Reads the `kernel` line of an iPXE script; `undefined` when it boots no kernel. */
function readKernelCommandLine(script: string): string | undefined {
  return /^kernel (?:--name \S+ )?\S+ (.*?)(?: \|\| .*)?$/m.exec(script)?.[1];
}
