import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { silentLog } from '#shared/log.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

/** The IPMI driver through the real ipmitool against OpenIPMI's ipmi_sim (Debian: ipmitool, openipmi). */

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

interface SimulatedBmc {
  readonly driverInfo: Readonly<Record<string, unknown>>;
  readonly power: () => Promise<string>;
  readonly boot: () => Promise<string>;
  reset(): Promise<void>;
  stop(): Promise<void>;
}

async function startIpmiSim(): Promise<SimulatedBmc> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-ipmi-'));
  const port = await freePort(); // of TCP, and so of no other test; the kernel gives none of these to UDP either
  const state = (name: string): Promise<string> => readFile(join(folder, name), 'utf8').then((text) => text.trim());
  const reset = async (): Promise<void> => {
    await writeFile(join(folder, 'power'), '0\n');
    await writeFile(join(folder, 'boot'), 'none\n');
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
      `chassis_control "${join(folder, 'chassis')} ${folder}"`,
      `user 2 true "admin" "${password}" admin 10 ${auth}`,
      '',
    ].join('\n'),
  );
  const commands = [
    'mc_setbmc 0x20',
    'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr',
    'sel_enable 0x20 1000 0x0a',
    'mc_enable 0x20',
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
    boot: () => state('boot'),
    reset,
    stop: async () => {
      process.kill('SIGKILL');
      await process.exited;
      await rm(folder, { recursive: true });
    },
  };
}

const fast = { minSpacingMs: 20, retryMs: 100, pollMs: 50 };
const type = ipmiHardwareType({ run, log: silentLog }, fast);
let bmc: SimulatedBmc;

beforeAll(async () => {
  bmc = await startIpmiSim();
  const { power } = type.connect(bmc.driverInfo);
  await waitUntil('ipmi_sim to answer', () => power.getPowerState(), { timeoutMs: 60_000 });
});

afterAll(async () => {
  await bmc.stop();
});

const make = async (): Promise<Bmc & { readonly isOn: () => Promise<boolean> }> => {
  await bmc.reset();
  return { ...type.connect(bmc.driverInfo), isOn: async () => (await bmc.power()) === '1' };
};

powerContract({ name: 'ipmi, ipmitool against ipmi_sim', make });

const neverValid = 'ipmi_sim 2.0.33 never sets the valid bit of boot flags, so what was set reads as none';
managementContract({
  name: 'ipmi, ipmitool against ipmi_sim',
  make,
  skip: {
    'sets each boot device for the next boot': neverValid,
    'sets a persistent boot device': neverValid,
    'the last one set wins': neverValid,
    'forgets a device for one boot after that boot': neverValid,
    'keeps a persistent device over a boot': neverValid,
    'sets the boot mode along': neverValid,
  },
});

describe('ipmi_sim', () => {
  test('gets each boot device', async () => {
    const { management } = await make();
    for (const [device, reported] of [
      ['pxe', 'pxe'],
      ['cdrom', 'cdrom'],
      ['bios', 'bios'],
      ['disk', 'default'],
    ] as const) {
      await management.setBootDevice(device, { persistent: device === 'disk', bootMode: 'uefi' });
      expect(await bmc.boot()).toBe(reported);
    }
  });

  test('refuses a wrong password, which is not shown', async () => {
    const { power } = ipmiHardwareType({ run, log: silentLog }, { ...fast, attempts: 1 }).connect({
      ...bmc.driverInfo,
      ipmi_password: 'not-the-password',
    });
    const failure: unknown = await power.getPowerState().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/bmc_error|unavailable/) as string });
    expect(String(failure)).toContain('ipmi_password');
    expect(String(failure)).not.toContain('not-the-password');
  });
});
