import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import { fakeDriver } from '#conductor/drivers/fake/fake.ts';
import { idracDriver } from '#conductor/drivers/idrac/idrac.ts';
import { ipmiDriver } from '#conductor/drivers/ipmi/ipmi.ts';
import { redfishDriver } from '#conductor/drivers/redfish/redfish.ts';

/** THE table of drivers, by their folders. */
export const driverTable = { redfish: redfishDriver, idrac: idracDriver, ipmi: ipmiDriver, fake: fakeDriver } as const;

export const drivers: readonly DriverDefinition[] = Object.values(driverTable);

export function findDriver(name: string): DriverDefinition | undefined {
  return drivers.find((driver) => driver.name === name);
}
