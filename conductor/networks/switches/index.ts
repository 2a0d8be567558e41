import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { ovsDriver } from '#conductor/networks/switches/ovs.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Every switch driver, by the name that the networks file uses. */
export const switchDrivers: readonly SwitchDriver[] = [ovsDriver];

export const switchDriverNames: readonly string[] = switchDrivers.map((driver) => driver.name);

/** @throws AppError `invalid_argument` naming the drivers there are. */
export function findSwitchDriver(name: string, drivers: readonly SwitchDriver[] = switchDrivers): SwitchDriver {
  const driver = drivers.find((each) => each.name === name);
  if (driver !== undefined) return driver;
  const known = drivers.map((each) => each.name).join(', ');
  throw new AppError('invalid_argument', `switch driver ${name} does not exist; drivers are: ${known}`);
}
