import type { JsonObject } from '#conductor/model/json-object.ts';

/** Where each driver wants user and password; a driver that is not here has none. */
const loginKeys: Readonly<Record<string, { readonly username: string; readonly password: string }>> = {
  redfish: { username: 'redfish_username', password: 'redfish_password' },
  ipmi: { username: 'ipmi_username', password: 'ipmi_password' },
};

/** `driver_info` as the documents have it, with the login that they name. In clear. Pure. */
export function withLogin(
  driver: string,
  driverInfo: JsonObject,
  credential: { readonly username: string; readonly password: string } | undefined,
): JsonObject {
  const keys = loginKeys[driver];
  if (!keys || !credential) return driverInfo;
  return { ...driverInfo, [keys.username]: credential.username, [keys.password]: credential.password };
}
