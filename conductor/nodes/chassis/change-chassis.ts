import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { ChassisRow } from '#conductor/kernel/db/schema/chassis.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { ChassisDescription } from '#conductor/nodes/chassis/chassis-fields.ts';
import {
  deleteChassis,
  getChassis,
  hasNodes,
  lockChassis,
  updateChassis,
} from '#conductor/nodes/chassis/chassis-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * `PATCH /v1/chassis/{chassis}` in one transaction.
 * @throws AppError `not_found`, `invalid_argument` naming the field.
 */
export function changeChassis(db: Queryable, uuid: string, patch: JsonPatch): Promise<ChassisRow> {
  return db.transaction(async (tx) => {
    const { description, extra } = await lockChassis(tx, uuid);
    const described = patchDocument({ description, extra }, patch, ChassisDescription);
    if (patch.length > 0) await updateChassis(tx, uuid, described);
    return getChassis(tx, uuid);
  });
}

/** @throws AppError `not_found`, `invalid_argument` while nodes are in it. */
export async function removeChassis(db: Queryable, uuid: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockChassis(tx, uuid);
    if (await hasNodes(tx, uuid)) {
      throw new AppError(
        'invalid_argument',
        `Cannot complete the requested action because chassis ${uuid} contains nodes.`,
      );
    }
    await deleteChassis(tx, uuid);
  });
}
