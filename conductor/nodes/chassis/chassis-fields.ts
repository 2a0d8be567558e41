import { z } from 'zod';
import { jsonDocument } from '#conductor/api/node-description.ts';
import type { ChassisRow } from '#conductor/kernel/db/schema/chassis.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** Fields of the API's chassis in the order shown, with the microversion since which. */
export const chassisFieldVersions = { uuid: 1, created_at: 1, updated_at: 1, description: 1, extra: 1 } as const;
export type ChassisField = keyof typeof chassisFieldVersions;

export const chassisFields = Object.keys(chassisFieldVersions) as ChassisField[];
export const defaultChassisListFields = ['uuid', 'description'] as const satisfies readonly ChassisField[];

/** What an operator may write about a chassis; what is absent has its default. */
export const ChassisDescription = z.strictObject({
  description: z
    .string()
    .max(255)
    .nullish()
    .transform((text) => text ?? null),
  extra: jsonDocument.nullish().transform((extra) => extra ?? {}),
});
export type ChassisDescription = z.infer<typeof ChassisDescription>;

/** The chassis as the API shows it, without links. Pure. */
export function viewChassis(row: ChassisRow, fields: readonly ChassisField[]): Record<string, unknown> {
  const values: Record<ChassisField, unknown> = {
    uuid: row.uuid,
    created_at: apiTime(row.createdAt),
    updated_at: apiTime(row.updatedAt),
    description: row.description,
    extra: row.extra,
  };
  return Object.fromEntries(fields.map((field) => [field, values[field]]));
}
