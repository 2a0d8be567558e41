import { findDriver } from '#conductor/drivers/driver-table.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';

/** What a node needs before it can be managed and allocated: `driver_info/ipmi_password`, `resource_class`. Pure. */
export function listMissing(node: Pick<NodeRow, 'driver' | 'driverInfo' | 'resourceClass'>): string[] {
  const bmc = findDriver(node.driver)?.bmc;
  const fields = [bmc?.address, bmc?.username, bmc?.password].filter((field) => field !== undefined);
  return [
    ...fields.filter((field) => !node.driverInfo[field]).map((field) => `driver_info/${field}`),
    ...(node.resourceClass === null ? ['resource_class'] : []),
  ];
}
