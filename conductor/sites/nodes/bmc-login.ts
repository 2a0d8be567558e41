import { findDriver } from '#conductor/drivers/driver-table.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { Credential } from '#conductor/sites/credentials/credential-store.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

/** A node's `driver_info` as its documents have it, with the login that they name or have. In clear. Pure. */
export function withLogin(
  { driver, driverInfo, credential, login: own }: Pick<SiteNode, 'driver' | 'driverInfo' | 'credential' | 'login'>,
  credentials: ReadonlyMap<string, Credential>,
): JsonObject {
  const bmc = findDriver(driver)?.bmc;
  const login = own ?? credentials.get(credential ?? '');
  if (!bmc || !login) return driverInfo;
  return { ...driverInfo, [bmc.username]: login.username, [bmc.password]: login.password };
}
