import { expect, test } from 'vitest';
import { parseLan6Print, parseLanPrint, readBmc } from '#agent/hardware/inventory-bmc.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const lan = `Set in Progress         : Set Complete
IP Address Source       : Static Address
IP Address              : 192.0.2.100
Subnet Mask             : 255.255.255.0
MAC Address             : aa:bb:cc:00:00:01
`;
const lan6 = `IPv6 Dynamic Address 0:
    Source/Type:    DHCPv6
    Address:        ::/0
    Status:         disabled
IPv6 Dynamic Address 1:
    Source/Type:    SLAAC
    Address:        fe80::1/64
    Status:         active
IPv6 Dynamic Address 2:
    Source/Type:    SLAAC
    Address:        2001:db8::7/64
    Status:         active
`;

function ipmitool(
  answers: Readonly<Record<string, string>>,
  error: string,
  exitCode?: number,
): { run: Run; asked: string[] } {
  const asked: string[] = [];
  const run: Run = (command, args) => {
    const line = args.join(' ');
    asked.push(line);
    const stdout = answers[line];
    return stdout === undefined
      ? Promise.reject(new AppError('command_failed', `${command} ${line} ${error}`, { details: { exitCode } }))
      : Promise.resolve(ranWell(stdout));
  };
  return { run, asked };
}

test('takes the first channel that has an address', async () => {
  const { run } = ipmitool(
    {
      'lan print 3': lan,
      'lan6 print 3 dynamic_addr': lan6,
      'mc info': 'Device ID                 : 32\nFirmware Revision         : 2.88\n',
    },
    'exited with 1: Invalid channel: 1',
    1,
  );
  expect(await readBmc(run)).toEqual({
    bmc_address: '192.0.2.100',
    bmc_v6address: '2001:db8::7',
    bmc_mac: 'aa:bb:cc:00:00:01',
    baton_bmc_firmware: '2.88',
  });
});

test.each([
  ['could not be started', undefined],
  ['exited with 1: Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory', 1],
])('asks once where there is none: %s', async (error, exitCode) => {
  const { run, asked } = ipmitool({}, error, exitCode);
  expect(await readBmc(run)).toEqual({
    bmc_address: null,
    bmc_v6address: null,
    bmc_mac: null,
    baton_bmc_firmware: null,
  });
  expect(asked).toEqual(['lan print 1']);
});

test('an address of zeros is none', () => {
  expect(parseLanPrint(lan.replace('192.0.2.100', '0.0.0.0')).bmc_address).toBeNull();
  expect(parseLan6Print('')).toBeNull();
});
