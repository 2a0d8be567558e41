import type { DriverContext, DriverDefinition, HardwareType } from '#conductor/drivers/interfaces.ts';
import { ipmiConsole } from '#conductor/drivers/ipmi/console.ts';
import { ipmiFields, ipmiMachine, parseIpmiDriverInfo } from '#conductor/drivers/ipmi/driver-info.ts';
import { ipmiHardware, ipmiIndicators } from '#conductor/drivers/ipmi/hardware.ts';
import type { IpmitoolContext } from '#conductor/drivers/ipmi/ipmitool.ts';
import { ipmiManagement } from '#conductor/drivers/ipmi/management.ts';
import { ipmiPower } from '#conductor/drivers/ipmi/power.ts';
import { createTurns } from '#conductor/drivers/ipmi/turns.ts';
import { systemClock } from '#shared/clock.ts';

export interface IpmiOptions {
  /** Milliseconds between two ipmitool processes at one BMC. */
  readonly minSpacingMs?: number;
  readonly retryMs?: number;
  readonly attempts?: number;
  readonly pollMs?: number;
  readonly resendAfterMs?: number;
}

/** The `ipmi` hardware type: IPMI 2.0 over LAN through `ipmitool`. */
export const ipmiDriver: DriverDefinition<IpmiOptions> = {
  name: 'ipmi',
  fields: ipmiFields,
  bmc: { address: 'ipmi_address', username: 'ipmi_username', password: 'ipmi_password' },
  interfaces: {
    console: ['no-console', 'ipmitool-socat', 'ipmitool-shellinabox'],
    management: ['ipmitool'],
    power: ['ipmitool'],
  },
  site: { types: ['ipmi'], check: parseIpmiDriverInfo, machine: ipmiMachine },
  open: ipmiHardwareType,
};

export function ipmiHardwareType(context: DriverContext, options: IpmiOptions = {}): HardwareType {
  const clock = context.clock ?? systemClock;
  const ipmitool: IpmitoolContext = {
    run: context.run,
    log: context.log,
    clock,
    outbound: context.outbound,
    turns: createTurns(clock, options.minSpacingMs ?? 500),
    retryMs: options.retryMs ?? 1000,
    attempts: options.attempts ?? 4,
  };
  const timings = { pollMs: options.pollMs ?? 1000, resendAfterMs: options.resendAfterMs ?? 30_000 };
  return {
    connect: (driverInfo) => {
      const connection = parseIpmiDriverInfo(driverInfo);
      return {
        power: ipmiPower(ipmitool, connection, timings),
        management: { ...ipmiManagement(ipmitool, connection), ...ipmiHardware(ipmitool, connection) },
        indicators: ipmiIndicators(ipmitool, connection),
        console: ipmiConsole(ipmitool, connection),
      };
    },
  };
}
