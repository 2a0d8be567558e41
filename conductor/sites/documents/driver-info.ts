import { parseIpmiDriverInfo } from '#conductor/drivers/ipmi/driver-info.ts';
import { parseRedfishDriverInfo } from '#conductor/drivers/redfish/driver-info.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type NodeDesign, oobDrivers } from '#conductor/sites/documents/node-design.ts';
import type { Tell } from '#conductor/sites/documents/site-node.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Oob = NonNullable<NodeDesign['oob']>;

interface DriverFields {
  /** Field of `oob` → key of `driver_info`. */
  readonly keys: Readonly<Partial<Record<keyof Oob, string>>>;
  /** The conductor's own judgement. @throws AppError */
  readonly check?: (driverInfo: JsonObject) => unknown;
}

const driverFields: Readonly<Record<string, DriverFields>> = {
  redfish: {
    keys: {
      address: 'redfish_address',
      system_id: 'redfish_system_id',
      verify_ca: 'redfish_verify_ca',
      auth_type: 'redfish_auth_type',
    },
    // files of authorities are another machine's; the user comes from the credential
    check: ({ redfish_verify_ca: _authorities, ...info }) => {
      if (!isPlainUrl(info)) parseRedfishDriverInfo({ ...info, redfish_username: 'user' });
    },
  },
  ipmi: {
    keys: {
      address: 'ipmi_address',
      port: 'ipmi_port',
      cipher_suite: 'ipmi_cipher_suite',
      priv_level: 'ipmi_priv_level',
    },
    check: parseIpmiDriverInfo,
  },
  'fake-hardware': { keys: { fake_id: 'fake_id' } },
};

/** What is right at a glance: the driver's parser takes a tenth of the time that ten thousand nodes do. */
function isPlainUrl({ redfish_address: address, ...others }: JsonObject): boolean {
  const isUrl = typeof address === 'string' && /^https?:\/\/[a-z0-9.-]+(:\d{1,4})?$/.test(address);
  return isUrl && Object.keys(others).length === 0;
}

const general: ReadonlySet<string> = new Set(['type', 'network', 'credential', 'address']);

/** How the node's BMC is reached. */
export function driverInfoOf(design: NodeDesign, tell: Tell): Pick<SiteNode, 'driver' | 'driverInfo' | 'credential'> {
  const oob = design.oob ?? {};
  const type = oob.type ?? '';
  const driver = oobDrivers[type];
  const fields = driver === undefined ? undefined : driverFields[driver];
  if (driver === undefined || fields === undefined) {
    tell(
      ['data', 'oob', 'type'],
      'is missing, here and in its profiles: it must be redfish, ipmi or fake',
      'MissingField',
    );
    return { driver: '', driverInfo: {} };
  }
  const address = oob.address ?? addressIn(design, oob.network);
  const values: Oob = { ...oob, address };
  const driverInfo: JsonObject = {};
  for (const [field, value] of Object.entries(values)) {
    const key = fields.keys[field as keyof Oob];
    if (value === undefined || value === null) continue;
    if (key !== undefined) driverInfo[key] = value;
    else if (!general.has(field)) {
      const right = Object.keys(fields.keys).join(', ');
      tell(['data', 'oob', field], `is nothing that type ${type} has; it has ${right} and credential`, 'InvalidValue');
    }
  }
  const credential = oob.credential ?? undefined;
  if (fields.keys.address !== undefined) checkReach(driverInfo, { fields, credential, address }, tell);
  return { driver, driverInfo, ...(credential === undefined ? {} : { credential }) };
}

function checkReach(
  driverInfo: JsonObject,
  {
    fields,
    credential,
    address,
  }: { fields: DriverFields; credential: string | undefined; address: string | undefined },
  tell: Tell,
): void {
  if (credential === undefined) {
    const message = 'is missing: the BMC will be called without user and password';
    tell(['data', 'oob', 'credential'], message, 'NoCredential', 'Warning');
  }
  if (address === undefined) {
    const message = "is missing: the BMC's address, here or in addressing for the network that oob.network names";
    tell(['data', 'oob', 'address'], message, 'MissingField');
    return;
  }
  try {
    fields.check?.(driverInfo);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    tell(['data', 'oob'], `can't be used: ${error.message}`, 'InvalidValue');
  }
}

/** Drydock's way to say where the BMC is. */
function addressIn(design: NodeDesign, network: string | null | undefined): string | undefined {
  if (!network) return undefined;
  return design.addressing?.find((each) => each.network === network)?.address;
}
