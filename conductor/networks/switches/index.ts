import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { commandLineDriver } from '#conductor/networks/switches/command-line/command-line-driver.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { aosCx } from '#conductor/networks/switches/os/aos-cx.ts';
import { cumulus } from '#conductor/networks/switches/os/cumulus.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { linux } from '#conductor/networks/switches/os/linux.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { openconfig } from '#conductor/networks/switches/os/openconfig.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';
import { ovsDriver } from '#conductor/networks/switches/ovs.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Every operating system of switches that is a table of commands. */
export const switchOperatingSystems: readonly SwitchOs[] = [
  linux,
  sonic,
  cumulus,
  eos,
  nxos,
  iosXe,
  junos,
  os10,
  aosCx,
  openconfig,
];

/** Every switch driver, by the name that the networks file uses. */
export const switchDrivers: readonly SwitchDriver[] = [ovsDriver, ...switchOperatingSystems.map(commandLineDriver)];

export const switchDriverNames: readonly string[] = switchDrivers.map((driver) => driver.name);

/** @throws AppError `invalid_argument` naming the drivers there are. */
export function findSwitchDriver(name: string, drivers: readonly SwitchDriver[] = switchDrivers): SwitchDriver {
  const driver = drivers.find((each) => each.name === name);
  if (driver !== undefined) return driver;
  const known = drivers.map((each) => each.name).join(', ');
  throw new AppError('invalid_argument', `switch driver ${name} does not exist; drivers are: ${known}`);
}
