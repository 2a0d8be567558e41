import { z } from 'zod';
import { fieldText } from '#conductor/drivers/call-deadline.ts';
import type { DriverField } from '#conductor/drivers/driver-definition.ts';
import { fieldFaultBy } from '#conductor/drivers/field-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { isHost } from '#shared/peers/is-host.ts';

const privilegeLevels = ['ADMINISTRATOR', 'CALLBACK', 'OPERATOR', 'USER'] as const;
const bridgings = ['no', 'single', 'dual'] as const;

/** How to reach one BMC; from a node's `driver_info`, with Ironic's keys. */
export interface IpmiConnection {
  readonly address: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string;
  readonly cipherSuite: number | undefined;
  readonly privilegeLevel: (typeof privilegeLevels)[number];
  /** The controller of the machine, where the one at the address is a shelf's that passes requests on. */
  readonly bridge: IpmiBridge | undefined;
  /** Whether boot flags are to hold until a boot uses them. */
  readonly keepsBootFlags: boolean;
}

/** Numbers as ipmitool reads them, `0x72`. */
export interface IpmiBridge {
  readonly localAddress: string;
  /** On the way to the target; `undefined` = there is no other controller between. */
  readonly transit: IpmiPlace | undefined;
  readonly target: IpmiPlace;
}

interface IpmiPlace {
  readonly channel: string;
  readonly address: string;
}

export const ipmiFields: Readonly<Record<string, DriverField>> = {
  ipmi_address: {
    meaning: 'IP address or hostname of the BMC. Required.',
    site: { name: 'address', value: 'text' },
  },
  ipmi_port: {
    meaning: 'Remote IPMI RMCP port; default is 623. Optional.',
    site: { name: 'port', value: 'whole number' },
  },
  ipmi_username: { meaning: 'Username; default is the NULL user. Optional.' },
  ipmi_password: { meaning: 'Password. Optional.', secret: { sentBy: ['ipmi_address', 'ipmi_port'] } },
  ipmi_cipher_suite: {
    meaning: "The cipher suite, such as 3 or 17; default is ipmitool's choice. Optional.",
    site: { name: 'cipher_suite', value: 'whole number' },
  },
  ipmi_priv_level: {
    meaning: `Privilege level; default is ADMINISTRATOR. One of ${privilegeLevels.join(', ')}. Optional.`,
    site: { name: 'priv_level', value: 'text' },
  },
  ipmi_protocol_version: { meaning: 'The version of the IPMI protocol; 2.0, which is the only one. Optional.' },
  ipmi_disable_boot_timeout: {
    meaning:
      'False leaves it to the BMC how long a boot device holds that no boot has used; default is True, until one does. Optional.',
  },
  ipmi_bridging: {
    meaning: `How requests reach the machine's controller: ${bridgings.join(', ')}; default is no. Optional.`,
  },
  ipmi_local_address: { meaning: 'Local IPMB address for bridged requests; default is 0x20. Optional.' },
  ipmi_target_channel: {
    meaning: 'Destination channel for bridged requests. Required for single or dual bridging, else of no effect.',
  },
  ipmi_target_address: {
    meaning: 'Destination address for bridged requests. Required for single or dual bridging, else of no effect.',
  },
  ipmi_transit_channel: {
    meaning: 'Transit channel for bridged requests. Required for dual bridging, else of no effect.',
  },
  ipmi_transit_address: {
    meaning: 'Transit address for bridged requests. Required for dual bridging, else of no effect.',
  },
};

/** Numbers come as numbers or, from command lines, as text. */
const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error }).nullish();
};

const byteError = 'must be a number from 0 to 255, such as 0x72';
const byte = z
  .union([z.number(), z.string()], { error: byteError })
  .transform((value) => String(value).trim())
  .refine((text) => /^(0x[0-9a-f]{1,2}|\d{1,3})$/i.test(text) && Number(text) <= 255, { error: byteError })
  .nullish();
const yesOrNo = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' }).nullish();

const DriverInfo = z.looseObject({
  ipmi_address: z
    .string({ error: 'is required: the IP address or hostname of the BMC' })
    .trim()
    // ipmitool would take a leading dash for an option
    .refine(isHost, { error: 'must be an IP address or hostname, without scheme and port (ipmi_port)' }),
  ipmi_port: wholeNumber(1, 65_535),
  ipmi_username: z.coerce.string().nullish(),
  // passwords of digits only arrive as numbers
  ipmi_password: z.coerce.string().nullish(),
  ipmi_cipher_suite: wholeNumber(0, 17),
  ipmi_priv_level: z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(privilegeLevels, { error: `must be one of ${privilegeLevels.join(', ')}` }))
    .nullish(),
  ipmi_protocol_version: z.coerce
    .string()
    .refine((version) => /^2(\.0)?$/.test(version), { error: 'must be 2.0: IPMI 1.5 sends requests in the clear' })
    .nullish(),
  // it would stand among the arguments of a process, which every user of the host can read
  ipmi_hex_kg_key: z
    .custom<null | undefined>((key) => key === null || key === undefined || key === '', {
      error: "is not supported: clear the BMC's Kg key, and this property",
    })
    .optional(),
  ipmi_disable_boot_timeout: yesOrNo,
  ipmi_bridging: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(bridgings, { error: `must be one of ${bridgings.join(', ')}` }))
    .nullish(),
  ipmi_local_address: byte,
  ipmi_target_channel: byte,
  ipmi_target_address: byte,
  ipmi_transit_channel: byte,
  ipmi_transit_address: byte,
});
type DriverInfo = z.infer<typeof DriverInfo>;

export const ipmiFieldFault = fieldFaultBy(DriverInfo.shape);

/** @throws AppError `invalid_argument` naming each bad or missing property. */
export function parseIpmiDriverInfo(driverInfo: Readonly<Record<string, unknown>>): IpmiConnection {
  const parsed = DriverInfo.safeParse(driverInfo);
  if (!parsed.success) {
    throw new AppError('invalid_argument', `driver_info for ipmi: ${describeIssues(parsed.error)}`);
  }
  const info = parsed.data;
  return {
    address: info.ipmi_address,
    port: info.ipmi_port ?? 623,
    username: info.ipmi_username ?? undefined,
    password: info.ipmi_password ?? '',
    cipherSuite: info.ipmi_cipher_suite ?? undefined,
    privilegeLevel: info.ipmi_priv_level ?? 'ADMINISTRATOR',
    bridge: bridgeOf(info),
    keepsBootFlags: info.ipmi_disable_boot_timeout ?? true,
  };
}

const bridgePlaces: Readonly<Record<(typeof bridgings)[number], readonly ('target' | 'transit')[]>> = {
  no: [],
  single: ['target'],
  dual: ['target', 'transit'],
};

/**
 * Fields that the bridging has no use for are left alone, as Ironic does: nodes that came from there may have them.
 * @throws AppError `invalid_argument`: half a bridge would switch the power of the controller at its beginning
 */
function bridgeOf(info: DriverInfo): IpmiBridge | undefined {
  const bridging = info.ipmi_bridging ?? 'no';
  const required = (field: `ipmi_${'target' | 'transit'}_${'channel' | 'address'}`): string => {
    const value = info[field] ?? undefined;
    if (value !== undefined) return value;
    const why = `is required with ipmi_bridging ${bridging}`;
    throw new AppError('invalid_argument', `driver_info for ipmi: ${field}: ${why}`);
  };
  const place = (name: 'target' | 'transit'): IpmiPlace | undefined =>
    bridgePlaces[bridging].includes(name)
      ? { channel: required(`ipmi_${name}_channel`), address: required(`ipmi_${name}_address`) }
      : undefined;
  const [transit, target] = [place('transit'), place('target')];
  return target && { localAddress: info.ipmi_local_address ?? '0x20', transit, target };
}

/** Distinguishes BMCs that site documents describe, and machines behind one of them. */
export function ipmiMachine(driverInfo: Readonly<Record<string, unknown>>): string {
  const { ipmi_address: address, ipmi_port: port } = driverInfo;
  const word = fieldText(driverInfo['ipmi_bridging']).trim().toLowerCase();
  const bridging = bridgings.find((each) => each === word) ?? 'no';
  const bridge = bridgePlaces[bridging]
    .toReversed()
    .flatMap((name) => ['channel', 'address'].map((field) => fieldText(driverInfo[`ipmi_${name}_${field}`]).trim()));
  // 0x72 and 114 are one
  const behind = bridge.map((text) => (text === '' ? '-' : String(Number(text)))).join(' ');
  const place = `${fieldText(address).toLowerCase()} port ${fieldText(port) || '623'}`;
  return bridge.length === 0 ? place : `${place} controller ${behind}`;
}
