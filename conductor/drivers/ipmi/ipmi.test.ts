import { describe, expect, test } from 'vitest';
import { parseBootFlags } from '#conductor/drivers/ipmi/boot-device.ts';
import { ipmiMachine } from '#conductor/drivers/ipmi/driver-info.ts';
import { ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run, RunOptions } from '#shared/process/run.ts';

interface Call {
  readonly args: readonly string[];
  readonly options: RunOptions;
}

/** `ipmitool` as a script: the texts are those of ipmitool 1.8.19 against OpenIPMI's ipmi_sim. */
function scriptedIpmitool(failures: readonly string[] = [], showsBoot?: string) {
  const calls: Call[] = [];
  const left = [...failures];
  let on = false;
  let flags = { device: 'No override', valid: false, persistent: false, efi: false };
  let running = 0;
  let mostRunning = 0;
  const selectors: Readonly<Record<string, string>> = {
    pxe: 'Force PXE',
    disk: 'Force Boot from default Hard-Drive',
    safe: 'Force Boot from default Hard-Drive, request Safe-Mode',
    cdrom: 'Force Boot from CD/DVD',
    bios: 'Force Boot into BIOS Setup',
  };
  const power = (word: string): string => {
    if (word === 'status') return `Chassis Power is ${on ? 'on' : 'off'}\n`;
    if (word === 'on' && !on && flags.valid && !flags.persistent) flags = { ...flags, valid: false };
    on = word === 'on';
    return `Chassis Power Control: ${on ? 'Up/On' : 'Down/Off'}\n`;
  };
  const answer = (command: readonly string[]): string => {
    if (command[0] === 'power') return power(command[1] ?? '');
    if (command[0] === 'raw') return '\n';
    if (command[1] === 'bootdev') {
      const options = command[3] ?? '';
      flags = {
        device: selectors[command[2] ?? ''] ?? 'No override',
        valid: true,
        persistent: options.includes('persistent'),
        efi: options.includes('efiboot'),
      };
      return `Set Boot Device to ${command[2]}\n`;
    }
    return [
      'Boot parameter version: 1',
      'Boot parameter 5 is valid/unlocked',
      'Boot parameter data: 8004000000',
      ' Boot Flags :',
      `   - Boot Flag ${flags.valid ? 'Valid' : 'Invalid'}`,
      `   - Options apply to ${flags.persistent ? 'all future boots' : 'only next boot'}`,
      `   - ${flags.efi ? 'BIOS EFI boot ' : 'BIOS PC Compatible (legacy) boot '}`,
      `   - Boot Device Selector : ${showsBoot ?? flags.device}`,
      '',
    ].join('\n');
  };
  const run: Run = async (command, args, options = {}) => {
    calls.push({ args, options });
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    await Promise.resolve();
    running -= 1;
    if (options.signal?.aborted) throw new AppError('aborted', `${command} was stopped`);
    const failure = left.shift();
    if (failure !== undefined) {
      const shown = (options.secrets ?? []).reduce((text, secret) => text.replaceAll(secret, '******'), failure);
      const details = { ...options.judge?.(failure), exitCode: 1 };
      throw new AppError('command_failed', `ipmitool exited with 1: ${shown}`, { details });
    }
    return { stdout: answer(args.slice(args.indexOf('-E') + 1)), stderr: '', exitCode: 0, durationMs: 1 };
  };
  return { run, calls, isOn: () => on, mostRunning: () => mostRunning };
}

const fast = { minSpacingMs: 0, retryMs: 1, pollMs: 1 };
const driverInfo = { ipmi_address: '192.0.2.1', ipmi_username: 'admin', ipmi_password: 'open sesame' };

function rig(failures: readonly string[] = [], info: Readonly<Record<string, unknown>> = driverInfo) {
  const script = scriptedIpmitool(failures);
  const bmc = ipmiHardwareType({ run: script.run, log: silentLog }, fast).connect(info);
  return { ...bmc, ...script };
}

powerContract({ name: 'ipmi, scripted ipmitool', make: async () => rig() });
managementContract({ name: 'ipmi, scripted ipmitool', make: async () => rig() });

describe('ipmitool', () => {
  test('is called with the connection, and never with the password', async () => {
    const { power, calls } = rig([], {
      ...driverInfo,
      ipmi_port: '9623',
      ipmi_cipher_suite: 17,
      ipmi_priv_level: 'operator',
    });
    await power.getPowerState();
    expect(calls[0]?.args.join(' ')).toBe(
      '-I lanplus -H 192.0.2.1 -p 9623 -L OPERATOR -U admin -C 17 -R 5 -N 2 -E power status',
    );
    expect(calls[0]?.options.env).toMatchObject({ IPMI_PASSWORD: 'open sesame' });
    expect(calls[0]?.options.secrets).toEqual(['open sesame']);
  });

  test('is given the address that was looked at, never a name, and none that is refused', async () => {
    const script = scriptedIpmitool();
    const rules = { setting: 'BATON_BMC_ALLOW', allow: undefined, connectsHere: true };
    const connect = (allowLoopback: boolean, ipmi_address: string) =>
      ipmiHardwareType({ run: script.run, log: silentLog, outbound: { ...rules, allowLoopback } }, fast).connect({
        ...driverInfo,
        ipmi_address,
      }).power;
    for (const away of ['localhost', 'fe80::1%lo']) {
      await expect(connect(false, away).getPowerState()).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect(script.calls).toHaveLength(0);
    await connect(true, 'localhost').getPowerState();
    expect(script.calls[0]?.args[3]).toMatch(/^(127\.0\.0\.1|::1)$/);
  });

  test('runs one process at a time for each BMC', async () => {
    const { power, management, mostRunning } = rig();
    await Promise.all([power.getPowerState(), power.getPowerState(), management.getBootDevice()]);
    expect(mostRunning()).toBe(1);
  });

  test('tries again after a transient failure', async () => {
    const { power, calls } = rig([
      'Get Session Challenge command failed: insufficient resources for session',
      'Error: Unable to establish IPMI v2 / RMCP+ session',
    ]);
    expect(await power.getPowerState()).toBe('power off');
    expect(calls).toHaveLength(3);
  });

  test('does not try again with refused credentials', async () => {
    const { power, calls } = rig(['RAKP 2 message indicates an error : unauthorized name']);
    await expect(power.getPowerState()).rejects.toMatchObject({
      code: 'bmc_error',
      message: expect.stringContaining('ipmi_username') as string,
    });
    expect(calls).toHaveLength(1);
  });

  test('gives up on a BMC that stays away', async () => {
    const { power } = rig(Array.from({ length: 9 }, () => 'Error: Unable to establish IPMI v2 / RMCP+ session'));
    await expect(power.getPowerState()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('asks again while the BMC boots, longer than for a lost packet', async () => {
    const { power, calls } = rig(Array.from({ length: 6 }, () => 'Get Chassis Power Status failed: Unspecified error'));
    await power.setPowerState('power on');
    expect(calls.map(({ args }) => args.at(-1))).toEqual([...Array<string>(7).fill('status'), 'on', 'status']);
  });

  test('judges words before the password is hidden in them', async () => {
    const { power, calls } = rig(['Error: Unable to establish IPMI v2 / RMCP+ session'], {
      ...driverInfo,
      ipmi_password: 'b',
    });
    expect(await power.getPowerState()).toBe('power off');
    expect(calls).toHaveLength(2);
    const refused = rig(['RAKP 2 HMAC is invalid'], { ...driverInfo, ipmi_password: 'HMAC' });
    await expect(refused.power.getPowerState()).rejects.toThrow('ipmi_username, ipmi_password');
  });

  test('an action whose answer did not come is judged by the power state', async () => {
    const { power, calls } = rig();
    await power.setPowerState('power on');
    const lost = rig(Array.from({ length: 4 }, () => 'Unable to set Chassis Power Control to Up/On'));
    const soft = await lost.power.pressPowerButton?.().catch((error: unknown) => error);
    expect(soft).toMatchObject({ code: 'unavailable', details: { sent: true } });
    expect([calls.length, lost.calls.length]).toEqual([3, 1]);
  });

  test('a press of the button that may have happened is not repeated', async () => {
    const { power, calls } = rig(['Set Chassis Power Control to Soft failed: Timeout']);
    await expect(power.pressPowerButton?.()).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls).toHaveLength(1);
    const busy = rig(['Set Chassis Power Control to Soft failed: Node busy']);
    await busy.power.pressPowerButton?.();
    expect(busy.calls).toHaveLength(2);
  });

  test('reaches a controller behind the one at the address', async () => {
    const single = { ipmi_bridging: 'single', ipmi_target_channel: 0, ipmi_target_address: '0x72' };
    const dual = { ...single, ipmi_bridging: 'dual', ipmi_transit_channel: '7', ipmi_transit_address: '0x82' };
    for (const [info, args] of [
      [single, '-m 0x20 -b 0 -t 0x72'],
      [{ ...dual, ipmi_local_address: '0x22' }, '-m 0x22 -B 7 -T 0x82 -b 0 -t 0x72'],
    ] as const) {
      const { power, calls } = rig([], { ...driverInfo, ...info });
      await power.setPowerState('power on');
      expect(calls.map(({ args: all }) => all.join(' ').includes(` ${args} -R `))).toEqual([true, true, true]);
    }
  });

  test('leaves the time of boot flags to the BMC where that is asked for', async () => {
    const { management, calls } = rig([], { ...driverInfo, ipmi_disable_boot_timeout: 'false' });
    await management.setBootDevice('pxe', { persistent: false });
    expect(calls.some(({ args }) => args.includes('raw'))).toBe(false);
  });

  test('sends an interrupt', async () => {
    const { management, calls } = rig();
    await management.injectNmi?.();
    expect(calls.at(-1)?.args.slice(-3)).toEqual(['chassis', 'power', 'diag']);
    await management.resetBmc?.();
    expect(calls.at(-1)?.args.slice(-3)).toEqual(['mc', 'reset', 'cold']);
  });

  test('sets the clock', async () => {
    const { management, calls } = rig();
    await management.setBmcClock?.(new Date('2031-02-03T04:05:06.789Z'));
    expect(calls.at(-1)?.args.slice(-4)).toEqual(['sel', 'time', 'set', '02/03/2031 04:05:06']);
    const later = rig(['Specified time could not be parsed']);
    await later.management.setBmcClock?.(new Date('2031-02-03T04:05:06.789Z'));
    expect(later.calls.at(-1)?.args.slice(-1)).toEqual(['02/03/31 04:05:06']);
  });

  test('keeps boot flags before it sets them, and does without where the BMC refuses', async () => {
    const { management, calls } = rig(['Unable to send RAW command (rsp=0x80): Parameter not supported']);
    await management.setBootDevice('pxe', { persistent: true, bootMode: 'uefi' });
    const commands = calls.map(({ args }) => args.slice(args.indexOf('-E') + 1).join(' '));
    expect(commands).toEqual([
      'raw 0x00 0x08 0x03 0x08',
      'chassis bootdev pxe options=persistent,efiboot',
      'chassis bootparam get 5',
    ]);
  });
});

describe('a boot device is looked at', () => {
  const clock: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) };
  const set = (failures: readonly string[], showsBoot?: string, persistent = true) => {
    const { run } = scriptedIpmitool(failures, showsBoot);
    const { management } = ipmiHardwareType({ run, log: silentLog, clock }, fast).connect(driverInfo);
    return management.setBootDevice('pxe', { persistent }).catch((error: unknown) => errorChain(error));
  };
  const refused = 'Set Chassis Boot Parameter 5 failed: Invalid data field in request';

  test('a BMC that takes it for one boot only is asked for that', async () => {
    expect(await set(['no such parameter', refused])).toEqual({ persistent: false });
  });

  test('a refusal for all boots and for one is the error', async () => {
    expect(await set(['no such parameter', refused, refused])).toMatch(/bootdev pxe options=persistent at .*failed: /);
  });

  test.each([
    ['No override', 'none'],
    ['Force Boot from default Hard-Drive', 'disk'],
    ['Force Boot from Floppy/primary removable media', 'another device'],
  ])('what shows %s after it was taken is an error', async (words, shown) => {
    expect(await set([], words)).toMatch(new RegExp(`set boot device pxe at .*does not show it: shown is ${shown}$`));
  });

  test.each(['Flag error', 'Start over the network', ''])("unknown words, '%s', say nothing", async (words) => {
    expect(await set([], words, false)).toEqual({ persistent: false });
  });

  test('flags that can not be read say nothing', async () => {
    const { run } = scriptedIpmitool();
    const unreadable: typeof run = (command, args, options) =>
      args.includes('bootparam')
        ? Promise.reject(
            new AppError('command_failed', 'Get Chassis Boot Parameter 5 failed: Unspecified error', {
              details: { exitCode: 1 },
            }),
          )
        : run(command, args, options);
    const { management } = ipmiHardwareType({ run: unreadable, log: silentLog, clock }, fast).connect(driverInfo);
    expect(await management.setBootDevice('pxe', { persistent: true })).toEqual({ persistent: true });
  });
});

test('driver_info faults are all named', () => {
  const type = ipmiHardwareType({ run: scriptedIpmitool().run, log: silentLog });
  expect(() => type.connect({ ipmi_port: 'x', ipmi_priv_level: 'king' })).toThrow(
    /ipmi_address: is required.*ipmi_port: must be a whole number.*ipmi_priv_level: must be one of/,
  );
  for (const ipmi_address of ['-oProxyCommand', 'not an address', 'http://bmc', '192.0.2.999', '192.0.2.1:623']) {
    expect(() => type.connect({ ipmi_address })).toThrow(/ipmi_address: must be/);
  }
});

test.each([
  [{ ipmi_bridging: 'single' }, 'ipmi_target_channel: is required with ipmi_bridging single'],
  [{ ipmi_bridging: 'single', ipmi_target_channel: 0 }, 'ipmi_target_address: is required'],
  [
    { ipmi_bridging: 'dual', ipmi_target_channel: 0, ipmi_target_address: 114 },
    'ipmi_transit_channel: is required with ipmi_bridging dual',
  ],
  [
    { ipmi_bridging: 'single', ipmi_transit_channel: 7, ipmi_transit_address: '0x82' },
    'ipmi_target_channel: is required with ipmi_bridging single',
  ],
  [{ ipmi_bridging: 'triple' }, 'ipmi_bridging: must be one of no, single, dual'],
  [{ ipmi_bridging: 'single', ipmi_target_channel: '0', ipmi_target_address: '0x72 -I open' }, 'from 0 to 255'],
  [{ ipmi_local_address: 256 }, 'ipmi_local_address: must be a number from 0 to 255'],
  [{ ipmi_hex_kg_key: 'a'.repeat(40) }, 'ipmi_hex_kg_key: is not supported'],
  [{ ipmi_protocol_version: '1.5' }, 'ipmi_protocol_version: must be 2.0'],
  [{ ipmi_disable_boot_timeout: 'perhaps' }, 'ipmi_disable_boot_timeout: must be true or false'],
])('%j is refused before anything is sent', (info, words) => {
  const script = scriptedIpmitool();
  const type = ipmiHardwareType({ run: script.run, log: silentLog });
  expect(() => type.connect({ ...driverInfo, ...info })).toThrow(words);
  expect(script.calls).toEqual([]);
});

test('what Ironic takes for granted is taken', () => {
  const type = ipmiHardwareType({ run: scriptedIpmitool().run, log: silentLog });
  for (const info of [
    { ipmi_bridging: null, ipmi_hex_kg_key: '', ipmi_target_address: null },
    { ipmi_bridging: 'NO', ipmi_protocol_version: 2, ipmi_local_address: '0x20' },
    { ipmi_protocol_version: '2.0', ipmi_disable_boot_timeout: true },
  ]) {
    expect(() => type.connect({ ...driverInfo, ...info })).not.toThrow();
  }
});

test('what a bridging has no use for is left alone', async () => {
  const script = scriptedIpmitool();
  const type = ipmiHardwareType({ run: script.run, log: silentLog });
  const transit = { ipmi_transit_channel: 7, ipmi_transit_address: '0x82' };
  const target = { ipmi_target_channel: 0, ipmi_target_address: '0x72' };
  const sent = async (info: object): Promise<readonly string[]> => {
    await type.connect({ ...driverInfo, ...info }).power.getPowerState();
    return script.calls.at(-1)?.args.filter((arg) => /^-[bBtTm]$/.test(arg)) ?? [];
  };
  expect(await sent({ ...transit, ...target })).toEqual([]);
  expect(await sent({ ipmi_bridging: 'no', ipmi_target_channel: 0 })).toEqual([]);
  expect(await sent({ ipmi_bridging: 'single', ...target, ...transit })).toEqual(['-m', '-b', '-t']);
  expect(ipmiMachine({ ...driverInfo, ...transit, ...target })).toBe(ipmiMachine(driverInfo));
});

test('a boot device without a name here is told from none', () => {
  const shown = (first: string, device: string) => {
    const { bootDevice, persistent, other } = parseBootFlags(
      ` Boot Flags :\n   - ${first}\n   - Options apply to only next boot\n   - Boot Device Selector : ${device}\n`,
    );
    return { bootDevice, persistent, other };
  };
  const floppy = 'Force Boot from Floppy/primary removable media';
  const other = { bootDevice: undefined, persistent: false };
  expect(shown('Boot Flag Valid', floppy)).toEqual({ ...other, other: floppy });
  expect(shown('Boot Flag Valid', 'Flag error')).toEqual({ ...other, other: 'Flag error' });
  expect(parseBootFlags('what is this')).toMatchObject({ other: 'boot flags without a device' });
  const none = { bootDevice: undefined, persistent: undefined };
  expect(shown('Boot Flag Invalid', floppy)).toEqual(none);
  expect(shown('Boot Flag Valid', 'No override')).toEqual(none);
});

test('machines behind one controller are told apart', () => {
  const behind = (address: unknown) =>
    ipmiMachine({ ...driverInfo, ipmi_bridging: 'single', ipmi_target_channel: 0, ipmi_target_address: address });
  expect(behind('0x72')).toBe(behind(114));
  expect(behind('0x72')).not.toBe(behind('0x74'));
  expect(behind('0x72')).not.toBe(ipmiMachine(driverInfo));
});
