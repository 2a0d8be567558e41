import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedBmc, startIpmiSim } from '#test/support/ipmi-sim.ts';

/** The IPMI driver through the real ipmitool against OpenIPMI's ipmi_sim (Debian: ipmitool, openipmi). */

const fast = { minSpacingMs: 20, retryMs: 100, pollMs: 50 };
const type = ipmiHardwareType({ run, log: silentLog }, fast);
let bmc: SimulatedBmc;

beforeAll(async () => {
  bmc = await startIpmiSim();
  const { power } = type.connect(bmc.driverInfo);
  await waitUntil('ipmi_sim to answer', () => power.getPowerState());
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

  test("passes on what is for a blade's controller, and keeps the shelf's power", async () => {
    const { power: shelf } = await make();
    const bridge = { ipmi_bridging: 'single', ipmi_target_channel: 0, ipmi_target_address: '0x30' };
    const { power } = type.connect({ ...bmc.driverInfo, ...bridge });
    await power.setPowerState('power on');
    expect([await bmc.power(), await bmc.bladePower()]).toEqual(['0', '1']);
    expect([await shelf.getPowerState(), await power.getPowerState()]).toEqual(['power off', 'power on']);
  });

  test("its clock is set, in UTC wherever the conductor's host is", async () => {
    const { management } = await make();
    await management.setBmcClock?.(new Date('2031-02-03T04:05:06Z'));
    const { ipmi_address: host, ipmi_port: port, ipmi_username: user, ipmi_password: password } = bmc.driverInfo;
    const { stdout } = await run(
      'ipmitool',
      [
        '-I',
        'lanplus',
        '-H',
        String(host),
        '-p',
        String(port),
        '-U',
        String(user),
        '-C',
        '3',
        '-E',
        'sel',
        'time',
        'get',
      ],
      { env: { IPMITOOL_PASSWORD: String(password), IPMI_PASSWORD: String(password), TZ: 'UTC' } },
    );
    expect(stdout).toMatch(/^02\/03\/(20)?31 04:/);
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
