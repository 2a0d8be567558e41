import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type VolumeTargetRow, volumeConnectors, volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { rowsBy } from '#conductor/kernel/db/table-reader.ts';

/** The volume that the node boots from, without image and without agent. */
export async function findBootVolume(db: Queryable, nodeUuid: string): Promise<VolumeTargetRow | undefined> {
  return (await listNodeTargets(db, nodeUuid)).find(({ bootIndex }) => bootIndex === 0);
}

const listNodeTargets = rowsBy(volumeTargets, 'nodeUuid', 'id');
export const listNodeConnectors = rowsBy(volumeConnectors, 'nodeUuid', 'id');
