import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningProcess, start } from '#shared/process/run.ts';
import { freePort } from '#test/support/free-port.ts';

/** OpenIPMI's ipmi_sim (Debian: openipmi), a BMC that speaks IPMI 2.0. */

const password = 'open-sesame';

/** The machine behind ipmi_sim: a shell script that keeps its state in files. `$1` is their directory. */
const chassisControl = `#!/bin/sh
dir=$1; op=$2; shift 2
while [ $# -gt 0 ]; do
  case "$op $1" in
    "get "*) echo "$1:$(cat "$dir/$1")"; shift ;;
    "set shutdown") echo 0 > "$dir/power"; shift 2 ;;
    "set power"|"set boot") echo "$2" > "$dir/$1"; shift 2 ;;
    *) shift 2 ;;
  esac
done
`;

export interface SimulatedBmc {
  readonly driverInfo: Readonly<Record<string, unknown>>;
  readonly power: () => Promise<string>;
  /** Reads the power of the machine whose controller is at 0x30 of channel 0, behind that BMC. */
  readonly bladePower: () => Promise<string>;
  readonly boot: () => Promise<string>;
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** @param serialPort where the machine's serial line listens, over TCP */
export async function startIpmiSim({ serialPort }: { readonly serialPort?: number } = {}): Promise<SimulatedBmc> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-ipmi-'));
  const blade = join(folder, 'blade');
  await mkdir(blade);
  const port = await freePort(); // of TCP, and so of no other test; the kernel gives none of these to UDP either
  const state = (name: string): Promise<string> => readFile(join(folder, name), 'utf8').then((text) => text.trim());
  const reset = async (): Promise<void> => {
    await writeFile(join(folder, 'power'), '0\n');
    await writeFile(join(folder, 'boot'), 'none\n');
    await writeFile(join(blade, 'power'), '0\n');
  };
  const auth = 'none md2 md5 straight';
  await mkdir(join(folder, 'state'));
  await reset();
  await writeFile(join(folder, 'chassis'), chassisControl);
  await chmod(join(folder, 'chassis'), 0o755);
  await writeFile(
    join(folder, 'lan.conf'),
    [
      'name "baton"',
      'set_working_mc 0x20',
      'startlan 1',
      `  addr 127.0.0.1 ${port}`,
      '  priv_limit admin',
      ...['callback', 'user', 'operator', 'admin'].map((level) => `  allowed_auths_${level} ${auth}`),
      '  guid a123456789abcdefa123456789abcdef',
      'endlan',
      ...(serialPort === undefined ? [] : [`sol "tcp:127.0.0.1:${serialPort}" 115200`]),
      `chassis_control "${join(folder, 'chassis')} ${folder}"`,
      `user 2 true "admin" "${password}" admin 10 ${auth}`,
      'set_working_mc 0x30',
      `chassis_control "${join(folder, 'chassis')} ${blade}"`,
      '',
    ].join('\n'),
  );
  const commands = [
    'mc_setbmc 0x20',
    'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr',
    'sel_enable 0x20 1000 0x0a',
    'mc_enable 0x20',
    'mc_add 0x30 0 no-device-sdrs 0x24 9 8 0x9f 0x1291 0xf02 persist_sdr',
    'mc_enable 0x30',
    '',
  ];
  await writeFile(join(folder, 'sim.emu'), commands.join('\n'));
  const argv = ['-c', join(folder, 'lan.conf'), '-f', join(folder, 'sim.emu'), '-s', join(folder, 'state'), '-n'];
  const process: RunningProcess = start('ipmi_sim', argv);
  process.stdout.resume();
  process.stderr.resume();
  return {
    // without a cipher suite ipmitool asks for a list that ipmi_sim never answers: ten seconds for each command
    driverInfo: {
      ipmi_address: '127.0.0.1',
      ipmi_port: port,
      ipmi_username: 'admin',
      ipmi_password: password,
      ipmi_cipher_suite: 3,
    },
    power: () => state('power'),
    bladePower: () => state('blade/power'),
    boot: () => state('boot'),
    reset,
    stop: async () => {
      process.kill('SIGKILL');
      await process.exited;
      await rm(folder, { recursive: true });
    },
  };
}
