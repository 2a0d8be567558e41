import { z } from 'zod';
import { jsonDocument, looseBoolean } from '#conductor/api/node-description.ts';
import { answerOf, defineFields, json, links, longestName, nullableText, time, uuid } from '#conductor/api/values.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

export const macAddress = z.string({ error: 'must be a MAC address' }).transform((text, context): string => {
  const mac = parseMacAddress(text);
  if (mac === undefined)
    context.addIssue({ code: 'custom', message: `Expected valid MAC address for address: ${text}` });
  return mac ?? text;
});

/** The two names have an index; the row of one holds no more than a third of a page. */
const LinkConnection = jsonDocument.superRefine((connection, context) => {
  for (const name of ['switch_id', 'port_id']) {
    const { length } = JSON.stringify(connection[name] ?? '');
    const message = `is too long: at most ${longestName} characters`;
    if (length > longestName + '""'.length) context.addIssue({ code: 'custom', path: [name], message });
  }
});

/** Kind of port, as an operator calls it: `storage`. */
const category = z.string().max(80, 'is too long: at most 80 characters').nullable();

export const portFields = defineFields('port', 1, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  address: {
    type: z.string().meta({ description: 'MAC address, lower case' }),
    write: macAddress,
    listed: true,
  },
  extra: { type: json, write: jsonDocument },
  internal_info: { type: json, since: 18 },
  is_smartnic: { type: z.boolean(), write: looseBoolean, since: 53 },
  local_link_connection: {
    type: json.meta({ description: 'switch_id and port_id say where it is plugged in.' }),
    write: LinkConnection,
    since: 19,
  },
  physical_network: { type: nullableText, write: z.string().max(64).nullable(), since: 34 },
  pxe_enabled: { type: z.boolean(), write: looseBoolean, since: 19 },
  node_uuid: { type: uuid },
  name: { type: nullableText, write: z.string().max(255).nullable(), since: 88 },
  description: { type: nullableText, write: z.string().max(255).nullable(), since: 97 },
  vendor: {
    type: nullableText,
    write: z.string().max(32, 'is too long: at most 32 characters').nullable(),
    since: 100,
  },
  category: { type: nullableText, write: category, since: 101 },
  available_for_dynamic_portgroup: {
    type: z.boolean().meta({ description: 'Whether rules may put it into groups that they make.' }),
    write: looseBoolean,
    since: 111,
  },
  portgroup_uuid: {
    type: uuid.nullable(),
    write: z.guid({ error: 'must be the UUID of a port group' }).toLowerCase().nullable(),
    since: 24,
  },
});

export const Port = answerOf('Port', portFields.answered);

/** Description of a port that an operator may write; every key may be absent. */
export const PortDescription = z.strictObject(portFields.written).partial();
export type PortDescription = z.infer<typeof PortDescription>;

/** Linux's bonding modes; the number of each is its place. */
const bondingModes = [
  'balance-rr',
  'active-backup',
  'balance-xor',
  'broadcast',
  '802.3ad',
  'balance-tlb',
  'balance-alb',
] as const;

const mode = z.string().refine((text) => bondingModes.some((name, place) => text === name || text === String(place)), {
  error: `must be one of ${bondingModes.join(', ')}, or a number from 0 to ${bondingModes.length - 1}`,
});

const name = z
  .string()
  .regex(/^[\w.~-]{1,255}$/, 'must be 1 to 255 letters, digits and - . _ ~')
  .refine((text) => !z.guid().safeParse(text).success && text !== 'detail', 'must not look like a UUID or be `detail`')
  .nullish();

export const portgroupFields = defineFields('port group', 23, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  address: { type: nullableText, write: macAddress.nullish(), listed: true },
  extra: { type: json, write: jsonDocument.nullish() },
  internal_info: { type: json },
  mode: { type: z.string(), write: mode.default('active-backup'), since: 26 },
  name: { type: nullableText, write: name, listed: true },
  properties: { type: json, write: jsonDocument.nullish(), since: 26 },
  standalone_ports_supported: { type: z.boolean(), write: looseBoolean.nullish() },
  physical_network: {
    type: nullableText,
    write: z.string().max(64, 'is too long: at most 64 characters').nullish(),
    since: 102,
  },
  category: { type: nullableText, write: category.optional(), since: 103 },
  dynamic_portgroup: {
    type: z.boolean().meta({ description: 'It was made for a network by a rule, and goes with it.' }),
    since: 111,
  },
  node_uuid: { type: uuid },
});

export const Portgroup = answerOf('Portgroup', { ...portgroupFields.answered, ports: links });

/** Description of a port group that an operator may write; absent keys have their defaults. */
export const PortgroupDescription = z.strictObject(portgroupFields.written);
