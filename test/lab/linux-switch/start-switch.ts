import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { type RunningProcess, type RunResult, run, start } from '#shared/process/run.ts';
import { buildSwitch } from '#test/lab/linux-switch/build-switch.ts';
import { labMtu, tcgCpu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

export interface LinuxSwitchOptions {
  /** Absolute: its disk, keys and console are put here, with names that begin with `switch`. */
  readonly directory: string;
  /** Where QEMU runs, and the SSH port is; default: this process's own. */
  readonly namespace?: string;
  readonly sshPort: number;
  /** Taps of the namespace: the ports by name, and the trunk of VLANs 100 and 200. */
  readonly ports?: readonly { readonly name: string; readonly tap: string }[];
  readonly uplinkTap?: string;
  /** Ports `swp1`… with machines' cards `nic1`… inside. */
  readonly rack?: number;
  readonly accelerator?: 'kvm' | 'tcg';
  readonly say?: (line: string) => void;
}

/** A Linux computer that is a switch, in QEMU: a bridge with VLANs and bonds of a kernel of Debian's. */
export interface LinuxSwitch {
  /** For the driver `linux`, where this process is in the namespace. */
  readonly access: SwitchAccess;
  readonly keyFile: string;
  readonly hostKey: string;
  /** Runs a command on it, by OpenSSH's client. */
  shell(command: string): Promise<string>;
  /** Pulls the plug, and starts it again. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}

export async function startLinuxSwitch(options: LinuxSwitchOptions): Promise<LinuxSwitch> {
  const system = await buildSwitch(options.say ?? (() => undefined));
  const at = (name: string): string => join(options.directory, `switch${name}`);
  await run('truncate', ['--size=16M', at('-disk.raw')]);
  await run('mkfs.ext4', ['-q', '-O', '^has_journal', at('-disk.raw')]);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at('.key')]);
  const [, publicKey = ''] = (await readFile(at('.key.pub'), 'utf8')).split(' ');
  const inside = (command: string, args: readonly string[]): [string, readonly string[]] =>
    options.namespace === undefined ? [command, args] : ['ip', ['netns', 'exec', options.namespace, command, ...args]];
  const ask = (command: string, args: readonly string[], okExitCodes = [0]): Promise<RunResult> =>
    run(...inside(command, args), { okExitCodes, timeoutMs: 10 * 60_000 });
  let qemu: RunningProcess | undefined;
  const power = async (): Promise<void> => {
    await writeFile(at('-console.log'), '');
    qemu = start(...inside('qemu-system-x86_64', qemuArguments(options, { ...system, at, publicKey })), {
      // in a lab Ctrl-C must not reach it; with the namespace it is ended in any case
      detached: options.namespace !== undefined,
    });
    let words = '';
    for (const stream of [qemu.stdout, qemu.stderr]) stream.on('data', (chunk: Buffer) => (words += chunk));
    const ended = qemu.exited.then((code): never => {
      throw new Error(`the switch ended with ${code}: ${words}${readFileSync(at('-console.log'), 'latin1')}`);
    });
    const started = waitUntil(
      'the switch',
      async () => readFileSync(at('-console.log'), 'latin1').includes('switch: started') || undefined,
      { timeoutMs: 10 * 60_000 },
    );
    await Promise.race([started, ended]);
    ended.catch(() => undefined);
  };
  const stop = async (): Promise<void> => {
    qemu?.kill('SIGKILL');
    await qemu?.exited;
  };
  try {
    await power();
    const { stdout: scanned } = await ask('ssh-keyscan', ['-t', 'ed25519', '-p', String(options.sshPort), '127.0.0.1']);
    const { stdout: shown } = await run('ssh-keygen', ['-lf', '-'], { input: scanned });
    const [, hostKey = ''] = shown.split(' ');
    await writeFile(at('.known'), scanned);
    const privateKey = await readFile(at('.key'), 'utf8');
    const quiet = ['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${at('.known')}`, '-i', at('.key')];
    return {
      access: {
        endpoint: `ssh:127.0.0.1:${options.sshPort}`,
        login: { username: 'root', privateKey: async () => privateKey, hostKey },
      },
      keyFile: at('.key'),
      hostKey,
      shell: async (command) =>
        (await ask('ssh', [...quiet, '-p', String(options.sshPort), 'root@127.0.0.1', command])).stdout,
      reboot: async () => {
        await stop();
        await power();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface SwitchFiles {
  readonly kernel: string;
  readonly initrd: string;
  readonly at: (name: string) => string;
  readonly publicKey: string;
}

function qemuArguments(options: LinuxSwitchOptions, files: SwitchFiles): string[] {
  const { ports = [], uplinkTap, rack = 0, sshPort, accelerator = 'tcg' } = options;
  const words = [
    'console=ttyS0 quiet panic=-1',
    `ports=${ports.map(({ name }) => name).join(',')} rack=${rack} key=${files.publicKey}`,
  ];
  const card = (id: string, mac: string, tap: string): string[] => [
    '-netdev',
    `tap,id=${id},ifname=${tap},script=no,downscript=no,vnet_hdr=off`,
    '-device',
    `virtio-net-pci,netdev=${id},mac=${mac},host_mtu=${labMtu},romfile=`,
  ];
  const number = (index: number): string => (index + 1).toString(16).padStart(2, '0');
  return [
    ['-name', 'switch', '-machine', 'q35,graphics=off', '-m', '256', '-smp', '1'],
    accelerator === 'kvm' ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=multi', '-cpu', tcgCpu],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-vga', 'none', '-no-reboot'],
    ['-serial', `file:${files.at('-console.log')}`],
    ['-kernel', files.kernel, '-initrd', files.initrd, '-append', words.join(' ')],
    ['-drive', `if=none,id=disk,format=raw,cache=unsafe,file=${files.at('-disk.raw')}`],
    ['-device', 'virtio-blk-pci,drive=disk', '-device', 'virtio-rng-pci'],
    ['-netdev', `user,id=own,restrict=on,hostfwd=tcp:127.0.0.1:${sshPort}-:22`],
    ['-device', 'virtio-net-pci,netdev=own,mac=52:54:00:77:00:00,romfile='],
    uplinkTap === undefined ? [] : card('uplink', '52:54:00:77:01:00', uplinkTap),
    ...ports.map(({ tap }, index) => card(`port${index}`, `52:54:00:77:02:${number(index)}`, tap)),
  ].flat();
}
