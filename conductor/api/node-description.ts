import { z } from 'zod';
import { interfaceKinds } from '#conductor/model/node-words.ts';

export const jsonDocument = z.record(z.string(), z.unknown(), { error: 'must be a JSON object' });
/** Text of one line of a node or another resource, or none. */
export const line = z.string({ error: 'must be text' }).max(255, 'is too long: at most 255 characters').nullable();
const wordsForTrue = new Set(['true', 't', 'yes', 'y', 'on', '1']);
const wordsForFalse = new Set(['false', 'f', 'no', 'n', 'off', '0']);

/** Clients send booleans as words too (ironic-api.md §3.3). */
export const looseBoolean = z.union([z.boolean(), z.string()]).transform((value, context): boolean => {
  const word = String(value).toLowerCase();
  if (wordsForTrue.has(word)) return true;
  if (!wordsForFalse.has(word)) context.addIssue({ code: 'custom', message: 'must be true or false' });
  return false;
});

const interfaceFields = Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, line])) as Record<
  `${(typeof interfaceKinds)[number]}_interface`,
  typeof line
>;

/** Description of a node that an operator may write (ironic-api.md §3.2, §3.3); every key may be absent. */
export const NodeDescription = z
  .strictObject({
    name: line,
    driver: z
      .string({ error: 'must be the name of a hardware type (GET /v1/drivers)' })
      .min(1)
      .max(255, 'is too long: at most 255 characters'),
    driver_info: jsonDocument,
    properties: jsonDocument,
    extra: jsonDocument,
    instance_info: jsonDocument,
    network_data: jsonDocument,
    instance_uuid: z.guid({ error: 'must be a UUID' }).nullable(),
    instance_name: line.refine((name) => name !== '', 'must not be empty: null for none'),
    resource_class: z.string().max(80).nullable(),
    conductor_group: z.string().max(255, 'is too long: at most 255 characters'),
    owner: line,
    lessee: line,
    description: z.string().max(4096).nullable(),
    shard: line,
    automated_clean: looseBoolean.nullable(),
    protected: looseBoolean,
    protected_reason: z.string().nullable(),
    retired: looseBoolean,
    retired_reason: z.string().nullable(),
    disable_power_off: looseBoolean,
    maintenance: looseBoolean,
    chassis_uuid: z.guid({ error: 'must be the UUID of a chassis' }).toLowerCase().nullable(),
    parent_node: z.null({ error: 'Baton has no parent nodes: it must be null or absent' }),
    ...interfaceFields,
  })
  .partial();
export type NodeDescription = z.infer<typeof NodeDescription>;
