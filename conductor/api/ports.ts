import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { jsonDocument, looseBoolean } from '#conductor/api/node-description.ts';
import { json, line, links, time, uuid } from '#conductor/api/values.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

export const macAddress = z.string({ error: 'must be a MAC address' }).transform((text, context): string => {
  const mac = parseMacAddress(text);
  if (mac === undefined)
    context.addIssue({ code: 'custom', message: `Expected valid MAC address for address: ${text}` });
  return mac ?? text;
});

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
    write: jsonDocument,
    since: 19,
  },
  physical_network: { type: line, write: z.string().max(64).nullable(), since: 34 },
  pxe_enabled: { type: z.boolean(), write: looseBoolean, since: 19 },
  node_uuid: { type: uuid },
  name: { type: line, write: z.string().max(255).nullable(), since: 88 },
  description: { type: line, write: z.string().max(255).nullable(), since: 97 },
  portgroup_uuid: {
    type: uuid.nullable(),
    write: z.guid({ error: 'must be the UUID of a port group' }).toLowerCase().nullable(),
    since: 24,
  },
});

export const Port = z
  .strictObject({ ...portFields.answered, links })
  .partial()
  .meta({ id: 'Port' });

/** What an operator may write about a port; every key may be absent. */
export const PortDescription = z.strictObject(portFields.written).partial();
export type PortDescription = z.infer<typeof PortDescription>;
