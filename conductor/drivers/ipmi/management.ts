import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import {
  type BootFlags,
  bootDeviceCommand,
  type IpmitoolContext,
  ipmitool,
  keepBootFlags,
  parseBootFlags,
} from '#conductor/drivers/ipmi/ipmitool.ts';
import { bootDevices } from '#conductor/model/boot.ts';
import { errorCode } from '#shared/errors/app-error.ts';

const timeoutMs = 60_000;

/** The boot device by `ipmitool chassis bootdev` and its boot flags. */
export function ipmiManagement(context: IpmitoolContext, connection: IpmiConnection): ManagementInterface {
  const readFlags = async (signal: AbortSignal): Promise<BootFlags> =>
    parseBootFlags(await ipmitool(context, connection, ['chassis', 'bootparam', 'get', '5'], signal));
  return {
    supportedBootDevices: bootDevices,
    getBootDevice: async (options) => {
      const { bootDevice, persistent } = await readFlags(callDeadline(options, timeoutMs).signal);
      return { bootDevice, persistent };
    },
    getBootMode: async (options) => (await readFlags(callDeadline(options, timeoutMs).signal)).bootMode,
    injectNmi: async (options) => {
      await ipmitool(context, connection, ['chassis', 'power', 'diag'], callDeadline(options, timeoutMs).signal);
    },
    resetBmc: async (options) => {
      await ipmitool(context, connection, ['mc', 'reset', 'cold'], callDeadline(options, timeoutMs).signal);
    },
    setBootDevice: async (device, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      try {
        await ipmitool(context, connection, keepBootFlags, signal);
      } catch (error) {
        // a BMC without this parameter keeps the flags for its own time; it may still take the device
        if (errorCode(error) !== 'bmc_error') throw error;
        context.log.debug({ err: error, bmc: connection.address }, 'BMC does not keep boot flags');
      }
      await ipmitool(context, connection, bootDeviceCommand(device, options.persistent, options.bootMode), signal);
      return { persistent: options.persistent };
    },
  };
}
