import type { VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { type DocumentPlace, openDocument } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';

export function targetPlace(targetUuid: string): DocumentPlace {
  return `volume target ${targetUuid} properties`;
}

/** With its CHAP password in clear. @throws AppError `invalid_argument` naming the property, and the key that is missing. */
export function openTarget(secrets: Secrets, target: VolumeTargetRow): VolumeTargetRow {
  return { ...target, properties: openDocument(secrets, target.properties, targetPlace(target.uuid)) };
}
