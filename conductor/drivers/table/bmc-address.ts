import { addressUrl } from '#conductor/drivers/address-url.ts';
import { drivers } from '#conductor/drivers/table/driver-table.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';

/** The fields of all drivers that have a BMC's address. */
export const addressFields: readonly string[] = drivers.flatMap(({ bmc }) => bmc?.address ?? []);

/**
 * Whether the conductor may call the BMC there: a project's administrator describes the project's nodes, and stands outside
 * the conductor's networks.
 * @throws AppError `forbidden` naming the field (`BATON_BMC_ALLOW`).
 */
export function checkBmcAddress(driverInfo: Readonly<Record<string, unknown>>, rules: OutboundRules): void {
  for (const field of addressFields) {
    const address = driverInfo[field];
    if (typeof address !== 'string' || address.trim() === '') continue;
    const url = addressUrl(address);
    // what is not an address at all, the driver refuses in words of its own
    if (URL.canParse(url)) checkOutboundUrl(`driver_info.${field}`, url, rules);
  }
}
