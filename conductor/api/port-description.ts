import { z } from 'zod';
import { jsonDocument, looseBoolean } from '#conductor/api/node-description.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

export const macAddress = z.string({ error: 'must be a MAC address' }).transform((text, context): string => {
  const mac = parseMacAddress(text);
  if (mac === undefined)
    context.addIssue({ code: 'custom', message: `Expected valid MAC address for address: ${text}` });
  return mac ?? text;
});

/** What an operator may write about a port; every key may be absent. */
export const PortDescription = z
  .strictObject({
    address: macAddress,
    name: z.string().max(255).nullable(),
    description: z.string().max(255).nullable(),
    extra: jsonDocument,
    local_link_connection: jsonDocument,
    pxe_enabled: looseBoolean,
    physical_network: z.string().max(64).nullable(),
    is_smartnic: looseBoolean,
    portgroup_uuid: z.guid({ error: 'must be the UUID of a port group' }).toLowerCase().nullable(),
  })
  .partial();
export type PortDescription = z.infer<typeof PortDescription>;
