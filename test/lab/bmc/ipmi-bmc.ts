import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

export interface BmcOptions {
  readonly machineName: string;
  /** Where `serveMachine` listens. */
  readonly machineSocket: string;
  readonly address: string;
  /** Whether Secure Boot is on, where the BMC shows it. */
  readonly secureBoot?: boolean;
}

/** A BMC that answers, and how a node is told about it. */
export interface Bmc {
  readonly driver: 'ipmi' | 'redfish';
  readonly driverInfo: Readonly<Record<string, string | number | boolean>>;
  stop(): Promise<void>;
}

const username = 'admin';
const password = 'lab-secret'; // ipmi_sim takes at most 16 characters

/** OpenIPMI's `ipmi_sim` in front of a machine, on the address's port 623. */
export async function startIpmiBmc(lab: LabDirectory, options: BmcOptions): Promise<Bmc> {
  const directory = join(lab.path, `${options.machineName}-ipmi`);
  mkdirSync(join(directory, 'state'), { recursive: true });
  const control = join(directory, 'chassis-control');
  writeFileSync(control, chassisControlScript(options.machineSocket));
  chmodSync(control, 0o755);
  writeFileSync(join(directory, 'lan.conf'), lanConfiguration(options, control));
  writeFileSync(join(directory, 'bmc.emu'), emulatorCommands);
  const process = startLabProcess(
    'ipmi_sim',
    ['-n', '-c', join(directory, 'lan.conf'), '-f', join(directory, 'bmc.emu'), '-s', join(directory, 'state')],
    { namespace: lab.namespace, directory: lab.path, name: `${options.machineName}-bmc` },
  );
  // without a cipher suite ipmitool asks for the list of them, which ipmi_sim never answers: ten seconds each time
  const cipherSuite = 3;
  await waitUntil(`ipmi_sim of ${options.machineName}`, async () => {
    const credentials = ['-C', String(cipherSuite), '-U', username, '-P', password];
    const ask = ['ipmitool', '-I', 'lanplus', '-H', options.address, ...credentials, 'power', 'status'];
    await run('ip', ['netns', 'exec', lab.namespace, ...ask], { timeoutMs: 5000 });
    return true;
  });
  return {
    driver: 'ipmi',
    driverInfo: {
      ipmi_address: options.address,
      ipmi_username: username,
      ipmi_password: password,
      ipmi_cipher_suite: cipherSuite,
    },
    stop: () => process.stop(),
  };
}

function chassisControlScript(socket: string): string {
  return `#!/bin/sh
# ipmi_sim runs this with: <address of the controller> get|set <name> [<value>]...
exec curl --silent --show-error --fail --max-time 20 --unix-socket '${socket}' --data "$*" http://machine/chassis
`;
}

function lanConfiguration(options: BmcOptions, control: string): string {
  return `name "${options.machineName}"
set_working_mc 0x20
startlan 1
  addr ${options.address} 623
  priv_limit admin
  allowed_auths_callback none md2 md5 straight
  allowed_auths_user none md2 md5 straight
  allowed_auths_operator none md2 md5 straight
  allowed_auths_admin none md2 md5 straight
  guid a123456789abcdefa123456789abcdef
endlan
chassis_control "${control} 0x20"
user 1 true "" "${password}" user 10 none md2 md5 straight
user 2 true "${username}" "${password}" admin 10 none md2 md5 straight
`;
}

/** One controller at 0x20, device 0x23 of no maker in particular, with a system event log. */
const emulatorCommands = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
`;
