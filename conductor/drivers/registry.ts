import { type FakeOptions, fakeHardwareType } from '#conductor/drivers/fake/fake.ts';
import type { Bmc, DriverContext, HardwareType } from '#conductor/drivers/interfaces.ts';
import { type IpmiOptions, ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { type RedfishOptions, redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { withLogging } from '#conductor/drivers/with-logging.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Limits and faults for tests and labs; the defaults are for real hardware. */
export interface DriverOptions {
  readonly redfish?: RedfishOptions;
  readonly ipmi?: IpmiOptions;
  readonly fake?: FakeOptions;
}

/** The hardware types of one conductor, with whatever they share behind them. */
export interface Drivers {
  readonly hardwareTypes: readonly HardwareType[];
  /** @throws AppError `not_found` naming the known ones. */
  hardwareType(name: string): HardwareType;
  /** @throws AppError `not_found`, or `invalid_argument` naming each bad driver_info property. */
  connect(driver: string, driverInfo: Readonly<Record<string, unknown>>): Bmc;
  /** Ends sessions at BMCs. */
  close(): Promise<void>;
}

/** THE table of hardware types; each has a folder of its own. */
export function createDrivers(context: DriverContext, options: DriverOptions = {}): Drivers {
  const hardwareTypes = [
    redfishHardwareType(context, options.redfish),
    ipmiHardwareType(context, options.ipmi),
    fakeHardwareType(options.fake),
  ].map((type) => logging(type, context));
  const hardwareType = (name: string): HardwareType => {
    const found = hardwareTypes.find((type) => type.name === name);
    if (found) return found;
    const known = hardwareTypes.map((type) => type.name).join(', ');
    throw new AppError('not_found', `driver ${name} is not known; it must be one of ${known}`);
  };
  return {
    hardwareTypes,
    hardwareType,
    connect: (driver, driverInfo) => hardwareType(driver).connect(driverInfo),
    close: async () => {
      for (const type of hardwareTypes) await type.close?.();
    },
  };
}

function logging(type: HardwareType, context: DriverContext): HardwareType {
  const log = context.log.child({ driver: type.name });
  return { ...type, connect: (driverInfo) => withLogging(type.connect(driverInfo), log) };
}
