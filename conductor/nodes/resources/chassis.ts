import { eq } from 'drizzle-orm';
import { ChassisDescription, chassisFields } from '#conductor/api/volumes.ts';
import { type ChassisRow, chassis, nodes } from '#conductor/kernel/db/schema/node.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const chassisResource: Resource<ChassisRow> = {
  ...chassisFields,
  table: chassis,
  description: ChassisDescription,
  admit: async (tx, { before, after }) => {
    if (!before || after) return;
    const inIt = await tx.select({ uuid: nodes.uuid }).from(nodes).where(eq(nodes.chassisUuid, before.uuid)).limit(1);
    if (inIt.length === 0) return;
    throw new AppError(
      'invalid_argument',
      `Cannot complete the requested action because chassis ${before.uuid} contains nodes.`,
    );
  },
};
