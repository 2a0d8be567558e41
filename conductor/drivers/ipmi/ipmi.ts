import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { DriverContext, DriverDefinition, HardwareType } from '#conductor/drivers/driver-definition.ts';
import type { ConsoleInterface, ManagementInterface, PowerInterface } from '#conductor/drivers/interfaces.ts';
import { type BootFlags, keepBootFlags, readBootFlags, setBootDevice } from '#conductor/drivers/ipmi/boot-device.ts';
import {
  type IpmiConnection,
  ipmiFieldFault,
  ipmiFields,
  ipmiMachine,
  parseIpmiDriverInfo,
} from '#conductor/drivers/ipmi/driver-info.ts';
import { ipmiHardware, ipmiIndicators } from '#conductor/drivers/ipmi/hardware.ts';
import {
  createTurns,
  type IpmitoolContext,
  ipmiFaultOf,
  ipmitool,
  ipmitoolProgram,
  parsePowerStatus,
} from '#conductor/drivers/ipmi/ipmitool.ts';
import { ipmiRecorder } from '#conductor/drivers/ipmi/record.ts';
import { reachPowerTarget } from '#conductor/drivers/reach-power-target.ts';
import { bootDevices, type PowerState, powerTargets } from '#conductor/model/power-and-boot.ts';
import { systemClock } from '#shared/clock.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { openProgram } from '#shared/terminal/open-program.ts';

const readTimeoutMs = 60_000;
const hardTimeoutMs = 120_000;
/** An operating system may take its time to shut down (Ironic's `soft_power_off_timeout`). */
const softTimeoutMs = 600_000;

function ipmiPower(
  context: IpmitoolContext,
  connection: IpmiConnection,
  timings: { readonly pollMs: number; readonly resendAfterMs: number },
): PowerInterface {
  const read = async (signal: AbortSignal): Promise<PowerState | undefined> =>
    parsePowerStatus(await ipmitool(context, connection, ['power', 'status'], signal));
  return {
    supportedTargets: powerTargets,
    getPowerState: (options) => read(callDeadline(options, readTimeoutMs).signal),
    pressPowerButton: async (options) => {
      await ipmitool(context, connection, ['power', 'soft'], callDeadline(options, hardTimeoutMs).signal);
    },
    setPowerState: async (target, options) => {
      const { signal, timeoutMs } = callDeadline(options, target.startsWith('soft') ? softTimeoutMs : hardTimeoutMs);
      const act = async (word: string): Promise<void> => {
        await ipmitool(context, connection, ['power', word], signal);
      };
      await reachPowerTarget(
        target,
        {
          bmc: `${connection.address}:${connection.port}`,
          read: () => read(signal),
          powerOn: () => act('on'),
          powerOff: () => act('off'),
          softPowerOff: () => act('soft'),
        },
        { clock: context.clock, signal, timeoutMs, ...timings },
      );
    },
  };
}

const timeoutMs = 60_000;

function ipmiManagement(context: IpmitoolContext, connection: IpmiConnection): ManagementInterface {
  const readFlags = (signal: AbortSignal): Promise<BootFlags> => readBootFlags(context, connection, signal);
  return {
    supportedBootDevices: bootDevices,
    getBootDevice: async (options) => {
      const { bootDevice, persistent, other } = await readFlags(callDeadline(options, timeoutMs).signal);
      return { bootDevice, persistent, ...(other === undefined ? {} : { other }) };
    },
    getBootMode: async (options) => (await readFlags(callDeadline(options, timeoutMs).signal)).bootMode,
    injectNmi: async (options) => {
      await ipmitool(context, connection, ['chassis', 'power', 'diag'], callDeadline(options, timeoutMs).signal);
    },
    resetBmc: async (options) => {
      await ipmitool(context, connection, ['mc', 'reset', 'cold'], callDeadline(options, timeoutMs).signal);
    },
    setBmcClock: async (now, options) => {
      const [, century, year, month, day, time] =
        /^(\d\d)(\d\d)-(\d\d)-(\d\d)T([\d:]{8})/.exec(now.toISOString()) ?? [];
      const { signal } = callDeadline(options, timeoutMs);
      const set = (shown: string) =>
        ipmitool(context, connection, ['sel', 'time', 'set', `${month}/${day}/${shown} ${time}`], signal);
      try {
        await set(`${century}${year}`);
      } catch (error) {
        // ipmitool 1.8.19 knows years by two digits alone
        if (ipmiFaultOf(error) !== 'no such date') throw error;
        await set(`${year}`);
      }
    },
    setBootDevice: async (device, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      try {
        if (connection.keepsBootFlags) await ipmitool(context, connection, keepBootFlags, signal);
      } catch (error) {
        // a BMC without this parameter keeps the flags for its own time; it may still take the device
        if (errorCode(error) !== 'bmc_error') throw error;
        context.log.debug({ err: error, bmc: connection.address }, 'BMC does not keep boot flags');
      }
      const { persistent, bootMode } = options;
      return setBootDevice(context, connection, { device, persistent, bootMode }, signal);
    },
  };
}

const openTimeoutMs = 60_000;

/** ipmitool's own commands follow this character at the beginning of a line: Ctrl-], which `baton console` leaves alone. */
const escape = '\u001d';

/** IPMI 2.0's Serial over LAN. */
function ipmiConsole(context: IpmitoolContext, connection: IpmiConnection): ConsoleInterface {
  return {
    open: async (size, options) => {
      const { signal } = callDeadline(options, openTimeoutMs);
      try {
        await ipmitool(context, connection, ['sol', 'deactivate'], signal);
      } catch (error) {
        // many BMCs call it an error that there was none
        if (errorCode(error) !== 'bmc_error') throw error;
        context.log.debug({ err: error, bmc: connection.address }, 'no console was ended');
      }
      const program = await ipmitoolProgram(context, connection, ['-e', escape, 'sol', 'activate']);
      const terminal = await openProgram({ ...program, ...size });
      const ended = new Promise<string>((resolve) => {
        terminal.onExit((code) => resolve(`ipmitool sol activate ended with ${code}`));
      });
      return { ...terminal, ended };
    },
  };
}

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
  fieldFault: ipmiFieldFault,
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
        recorder: ipmiRecorder(ipmitool, connection),
      };
    },
  };
}
