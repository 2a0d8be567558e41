import { and, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  type VolumeConnectorRow,
  type VolumeTargetRow,
  volumeConnectors,
  volumeTargets,
} from '#conductor/kernel/db/schema/volume.ts';

/** The volume that the node boots from, without image and without agent. */
export async function findBootVolume(db: Queryable, nodeUuid: string): Promise<VolumeTargetRow | undefined> {
  const [row] = await db
    .select()
    .from(volumeTargets)
    .where(and(eq(volumeTargets.nodeUuid, nodeUuid), eq(volumeTargets.bootIndex, 0)));
  return row;
}

export function listNodeConnectors(db: Queryable, nodeUuid: string): Promise<VolumeConnectorRow[]> {
  return db.select().from(volumeConnectors).where(eq(volumeConnectors.nodeUuid, nodeUuid)).orderBy(volumeConnectors.id);
}
