import { appendFileSync, copyFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import {
  allDisks,
  type BootSource,
  type DiskBus,
  type DiskTrial,
  type Firmware,
  type LabBoot,
  newVariables,
  type QemuMachine,
  type SecureBootKeys,
} from '#test/lab/qemu-arguments.ts';
import { type QemuRun, startQemu } from '#test/lab/qemu-run.ts';
import type { SimulatedBoot, SimulatedMachine, SimulatedPowerAction } from '#test/simulators/redfish/machine.ts';

export interface VirtualMachineOptions {
  readonly name: string;
  readonly uuid: string;
  readonly mac: string;
  /** Address of a second card, whose tap is `NAMEb`. */
  readonly secondMac?: string;
  readonly firmware: Firmware;
  /** Default `pxe`. */
  readonly boot?: LabBoot;
  readonly accelerator: 'kvm' | 'tcg';
  readonly memoryMib?: number;
  /** Default 1 without KVM: two processors have no common time stamp counter there, and a boot costs a sixth more. */
  readonly cpus?: number;
  /** One disk each; default one virtio disk of 6 GiB. */
  readonly disks?: readonly { readonly bus: DiskBus; readonly gib: number }[];
  /** Whether it has a TPM 2.0, with its maker's certificate. */
  readonly tpm?: boolean;
  /** Default: without Secure Boot. */
  readonly secureBoot?: SecureBootKeys;
}

export type PowerOnHook = (bootOrder: readonly BootSource[]) => Promise<void>;

/** A machine as its BMC sees it: it has a power button and a boot order whether or not QEMU runs. */
export interface VirtualMachine extends SimulatedMachine {
  readonly name: string;
  readonly mac: string;
  readonly uuid: string;
  readonly firmware: Firmware;
  readonly hasSecureBoot: boolean;
  readonly diskFiles: readonly string[];
  readonly serialLog: string;
  /** Called at power-on before the machine starts; the BMC says "on" meanwhile. Gives proofs a still disk to look at. */
  onPowerOn(hook: PowerOnHook): void;
  /** Power-ons and resets so far, with the boot order of each. */
  readonly boots: readonly (readonly BootSource[])[];
  qmp(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Pulls disks, from the next power-on; `allDisks` puts them back. */
  setDisks(trial: DiskTrial): void;
  close(): Promise<void>;
}

/** Builds a machine, powered off, plugged into the switch by a tap of its own name. */
export function createVirtualMachine(lab: LabDirectory, options: VirtualMachineOptions): VirtualMachine {
  const machine = prepareFiles(lab, options);
  let boot: SimulatedBoot = { device: 'none', once: false, mode: options.firmware };
  let trial = allDisks;
  let media: string | undefined;
  let wantsPower = false;
  let running: QemuRun | undefined;
  const hooks: PowerOnHook[] = [];
  const boots: (readonly BootSource[])[] = [];
  const inOrder = createQueue();

  const powerOn = async (): Promise<void> => {
    if (running || !wantsPower) return;
    const order = bootOrder(boot);
    for (const hook of hooks) await hook(order);
    if (boot.once) boot = { ...boot, device: 'none', once: false };
    boots.push(order);
    const started = await startQemu(lab, machine, order, trial, media);
    running = started;
    void started.ended.then((reason) => {
      if (running !== started) return;
      running = undefined;
      if (reason === 'guest-reset') inOrder(powerOn).catch(reportFailure);
      else wantsPower = false;
    });
  };
  const cutPower = async (): Promise<void> => {
    const stopped = running;
    running = undefined;
    await stopped?.kill();
  };
  const reportFailure = (error: unknown): void => {
    wantsPower = false;
    appendFileSync(machine.serialLog, `\n[lab] power-on failed: ${errorChain(error)}\n`);
  };

  const actions: Record<SimulatedPowerAction, () => Promise<void>> = {
    on: async () => {
      wantsPower = true;
      // not awaited: a BMC answers at once, and a hook may take a while
      inOrder(powerOn).catch(reportFailure);
    },
    off: () => {
      wantsPower = false;
      return inOrder(cutPower);
    },
    reset: async () => {
      wantsPower = true;
      await inOrder(cutPower);
      inOrder(powerOn).catch(reportFailure);
    },
    graceful: async () => {
      await running?.execute('system_powerdown');
    },
  };
  return {
    ...namesOf(options),
    hasSecureBoot: options.secureBoot !== undefined,
    diskFiles: machine.disks.map((disk) => disk.path),
    serialLog: machine.serialLog,
    boots,
    onPowerOn: (hook) => void hooks.push(hook),
    getPower: () => (wantsPower ? 'on' : 'off'),
    setPower: (action) => actions[action](),
    getBoot: () => boot,
    setBoot: (next) => {
      boot = next;
    },
    setMedia: (path) => {
      media = path;
    },
    setDisks: (next) => {
      trial = next;
    },
    qmp: async (command, args) => {
      if (!running) throw new AppError('unavailable', `${options.name} is powered off`);
      return running.execute(command, args);
    },
    close: () => actions.off(),
  };
}

function namesOf({ name, mac, uuid, firmware }: VirtualMachineOptions) {
  return { name, mac, uuid, firmware };
}

/** One action after another, in the order in which they were asked for. */
function createQueue(): (action: () => Promise<void>) => Promise<void> {
  let queue: Promise<void> = Promise.resolve();
  return (action) => {
    const done = queue.then(action);
    queue = done.catch(() => undefined); // the caller sees the failure
    return done;
  };
}

function bootOrder(boot: SimulatedBoot): BootSource[] {
  if (boot.device === 'cdrom') return ['cdrom', 'disk', 'pxe'];
  return boot.device === 'pxe' || boot.device === 'http' ? ['pxe', 'disk'] : ['disk', 'pxe'];
}

function prepareFiles(lab: LabDirectory, options: VirtualMachineOptions): QemuMachine {
  const file = (suffix: string): string => join(lab.path, `${options.name}-${suffix}`);
  const disks = (options.disks ?? [{ bus: 'virtio', gib: 6 }]).map((disk, index) => {
    const path = file(`disk${index}.raw`);
    writeFileSync(path, '');
    truncateSync(path, disk.gib * 2 ** 30);
    return { path, bus: disk.bus, serial: `LAB${options.name.toUpperCase()}D${index}` };
  });
  const variables = file('variables.fd');
  if (options.firmware === 'uefi') copyFileSync(newVariables(options.secureBoot), variables);
  const serialLog = file('serial.log');
  writeFileSync(serialLog, '');
  return {
    name: options.name,
    uuid: options.uuid,
    firmware: options.firmware,
    accelerator: options.accelerator,
    memoryMib: options.memoryMib ?? 2048,
    cpus: options.cpus ?? (options.accelerator === 'kvm' ? 2 : 1),
    disks,
    mac: options.mac,
    httpOnly: options.boot === 'http',
    tap: options.name,
    ...(options.secondMac === undefined ? {} : { secondCard: { mac: options.secondMac, tap: `${options.name}b` } }),
    variables,
    ...(options.secureBoot ? { secureBoot: options.secureBoot } : {}),
    serialLog,
    qmpSocket: join(lab.sockets, `${options.name}.qmp`),
    ...(options.tpm ? { tpm: { state: file('tpm'), socket: join(lab.sockets, `${options.name}.tpm`) } } : {}),
  };
}
