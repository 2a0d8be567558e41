import { z } from 'zod';
import { jsonDocument, looseBoolean } from '#conductor/api/node-description.ts';
import { macAddress } from '#conductor/api/port-description.ts';

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
  .nullish()
  .transform((text) => text ?? null);

/** What an operator may write about a port group; what is absent has its default. */
export const PortgroupDescription = z.strictObject({
  address: macAddress.nullish().transform((address) => address ?? null),
  name,
  mode: mode.default('active-backup'),
  properties: jsonDocument.nullish().transform((properties) => properties ?? {}),
  standalone_ports_supported: looseBoolean.nullish().transform((supported) => supported ?? true),
  extra: jsonDocument.nullish().transform((extra) => extra ?? {}),
});
export type PortgroupDescription = z.infer<typeof PortgroupDescription>;
