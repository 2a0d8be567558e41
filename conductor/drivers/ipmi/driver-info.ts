import { z } from 'zod';
import { fieldText } from '#conductor/drivers/call-deadline.ts';
import type { DriverField } from '#conductor/drivers/driver-definition.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { isHost } from '#shared/peers/is-host.ts';

const privilegeLevels = ['ADMINISTRATOR', 'CALLBACK', 'OPERATOR', 'USER'] as const;

/** How to reach one BMC; from a node's `driver_info`, with Ironic's keys. */
export interface IpmiConnection {
  readonly address: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string;
  readonly cipherSuite: number | undefined;
  readonly privilegeLevel: (typeof privilegeLevels)[number];
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
};

/** Numbers come as numbers or, from command lines, as text. */
const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error }).nullish();
};

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
});

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
  };
}

/** What distinguishes BMCs that site documents describe. */
export function ipmiMachine(driverInfo: Readonly<Record<string, unknown>>): string {
  const { ipmi_address: address, ipmi_port: port } = driverInfo;
  return `${fieldText(address).toLowerCase()} port ${fieldText(port) || '623'}`;
}
