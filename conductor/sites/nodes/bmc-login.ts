import { findDriver } from '#conductor/drivers/driver-table.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** `driver_info` as the documents have it, with the login that they name. In clear. Pure. */
export function withLogin(
  driver: string,
  driverInfo: JsonObject,
  credential: { readonly username: string; readonly password: string } | undefined,
): JsonObject {
  const bmc = findDriver(driver)?.bmc;
  if (!bmc || !credential) return driverInfo;
  return { ...driverInfo, [bmc.username]: credential.username, [bmc.password]: credential.password };
}
