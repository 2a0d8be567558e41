import { drivers } from '#conductor/drivers/driver-table.ts';
import type { DriverDefinition } from '#conductor/drivers/interfaces.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type NodeDesign, oobTypes } from '#conductor/sites/documents/node-design.ts';
import type { Report } from '#conductor/sites/documents/site-node.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

const general: ReadonlySet<string> = new Set(['type', 'network', 'account', 'credential', 'address']);

/** How the node's BMC is reached. */
export function driverInfoOf(
  design: NodeDesign,
  report: Report,
): Pick<SiteNode, 'driver' | 'driverInfo' | 'credential' | 'login'> {
  const oob = design.oob ?? {};
  const type = oob.type ?? '';
  const driver = drivers.find(({ site }) => site.types.includes(type));
  if (driver === undefined) {
    report(['data', 'oob', 'type'], `is missing, here and in its profiles: it must be ${oobTypes}`, 'MissingField');
    return { driver: '', driverInfo: {} };
  }
  const address = oob.address ?? addressIn(design, oob.network);
  const keys = new Map(Object.entries(driver.fields).flatMap(([key, { site }]) => (site ? [[site.name, key]] : [])));
  const driverInfo: JsonObject = {};
  for (const [field, value] of Object.entries({ ...oob, address })) {
    const key = keys.get(field);
    if (value === undefined || value === null) continue;
    if (key !== undefined) driverInfo[key] = value;
    else if (!general.has(field)) {
      const right = [...keys.keys()].join(', ');
      report(
        ['data', 'oob', field],
        `is nothing that type ${type} has; it has ${right} and credential`,
        'InvalidValue',
      );
    }
  }
  const login = loginOf(oob, report);
  if (driver.bmc) checkReach(driverInfo, { driver, hasLogin: oob.credential != null, address }, report);
  return { driver: driver.name, driverInfo, ...login };
}

/** A credential by its name, or Drydock's account with a password that was substituted. */
function loginOf(
  { account, credential }: NonNullable<NodeDesign['oob']>,
  report: Report,
): Pick<SiteNode, 'credential' | 'login'> {
  if (credential === undefined || credential === null) return {};
  if (typeof credential === 'string') {
    if (account) {
      const message = `is not used: user and password are those of the stored credential ${credential}`;
      report(['data', 'oob', 'account'], message, 'NotHonoured', 'Warning');
    }
    return { credential };
  }
  if (account) return { login: { username: account, password: credential.password } };
  report(['data', 'oob', 'account'], 'is missing: the user that the password in credential is of', 'MissingField');
  return {};
}

function checkReach(
  driverInfo: JsonObject,
  { driver, hasLogin, address }: { driver: DriverDefinition; hasLogin: boolean; address: string | undefined },
  report: Report,
): void {
  if (!hasLogin) {
    const message = 'is missing: the BMC will be called without user and password';
    report(['data', 'oob', 'credential'], message, 'NoCredential', 'Warning');
  }
  if (address === undefined) {
    const message = "is missing: the BMC's address, here or in addressing for the network that oob.network names";
    report(['data', 'oob', 'address'], message, 'MissingField');
    return;
  }
  try {
    driver.site.check?.(driverInfo);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    report(['data', 'oob'], `can't be used: ${error.message}`, 'InvalidValue');
  }
}

/** Drydock's way to say where the BMC is. */
function addressIn(design: NodeDesign, network: string | null | undefined): string | undefined {
  if (!network) return undefined;
  return design.addressing?.find((each) => each.network === network)?.address;
}
