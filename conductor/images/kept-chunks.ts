import { and, eq, gt, inArray, isNotNull, isNull } from 'drizzle-orm';
import { readImage, type StoredImage } from '#conductor/images/image-store.ts';
import { imagesIn } from '#conductor/images/image-users.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { parseImageChecksum } from '#conductor/model/image-checksum.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { WrittenImage } from '#conductor/model/known-disk.ts';
import { type ChunkIndex, zeroChunkId } from '#shared/chunks/chunk-index.ts';

/** Chunks that a deploy leaves on the disk of what an earlier one has written. */
export interface KeptChunks {
  /** The earlier image. */
  readonly image: string;
  /** Bytes of chunks that both images have, at most: what has changed on the disk since is fetched. */
  readonly bytes: number;
  readonly ofBytes: number;
}

/** Always fetched, and written last. */
const headBytes = 1024 * 1024;
/** Nothing of what was on the disk is relied on after these. */
export const erasingSteps: readonly string[] = [
  'erase_devices',
  'erase_devices_express',
  'wipe_disks',
  'burnin_disk',
  'apply_configuration',
  'create_configuration',
  'delete_configuration',
];

/** Returns the image in chunks that `instance_info` names, if it does. */
export function imageOf(instanceInfo: JsonObject): WrittenImage | undefined {
  const [name, sha256] = [imageNameOf(instanceInfo), sha256Of(checksumOf(instanceInfo))];
  return name !== undefined && sha256 !== undefined ? { name, sha256 } : undefined;
}

function imageNameOf({ image_source: source }: JsonObject): string | undefined {
  if (typeof source !== 'string' || !/\.caibx([?#]|$)/.test(source)) return undefined;
  const [name] = imagesIn(source);
  return name;
}

function checksumOf(instanceInfo: JsonObject): string | undefined {
  return [instanceInfo['image_os_hash_value'], instanceInfo['image_checksum']].find(isText);
}

/** Reads a SHA-256 checksum; `undefined` for another kind, and for a checksum's URL. */
function sha256Of(checksum: string | undefined): string | undefined {
  const parsed = parseImageChecksum(checksum ?? '');
  return parsed && 'hex' in parsed && parsed.algorithm === 'sha256' ? parsed.hex : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * Finds what the image that is to be deployed has in common with the one that was written last; `undefined` where that
 * was erased since, or one of them is not among this conductor's images, which are open to everyone.
 */
export async function findKeptChunks(
  db: Queryable,
  directory: string,
  node: Pick<NodeRow, 'uuid' | 'osDisk' | 'instanceInfo'>,
): Promise<KeptChunks | undefined> {
  const former = node.osDisk?.image;
  const wanted = imageOf(node.instanceInfo);
  if (!former || !wanted || node.osDisk?.flow === undefined) return undefined;
  if (await wasErasedSince(db, node.uuid, node.osDisk.flow)) return undefined;
  const find = async ({ name, sha256 }: WrittenImage): Promise<ChunkIndex | undefined> => {
    const found = await readImage(directory, name);
    return found?.image.sha256 === sha256 ? found.index : undefined;
  };
  const [from, to] = [await find(former), await find(wanted)];
  if (!from || !to) return undefined;
  const has = new Set(from.chunks.map(({ id }) => id));
  has.delete(zeroChunkId(from));
  const kept = to.chunks.filter(({ id, offset }) => offset >= headBytes && has.has(id));
  const bytes = kept.reduce((sum, { length }) => sum + length, 0);
  return bytes === 0 ? undefined : { image: former.name, bytes, ofBytes: to.imageBytes };
}

/**
 * Finds nodes at which a flow is open, and whose image's index has been, or may have been, replaced by another of its name:
 * they may be fetching chunks of the one before, which nobody can list any more.
 */
export async function findReplacedUnderway(db: Queryable, images: readonly StoredImage[]): Promise<readonly string[]> {
  const known = new Map(images.map(({ name, sha256 }) => [name, sha256]));
  const rows = await db
    .select({ uuid: nodes.uuid, name: nodes.name, instanceInfo: nodes.instanceInfo })
    .from(nodes)
    .innerJoin(flows, and(eq(flows.nodeUuid, nodes.uuid), isNull(flows.endedAt)))
    .orderBy(nodes.id);
  return rows
    .filter(({ instanceInfo }) => {
      const [name, checksum] = [imageNameOf(instanceInfo), checksumOf(instanceInfo)];
      if (name === undefined || checksum === undefined) return false; // nothing is written without a checksum
      return known.has(name) && known.get(name) !== sha256Of(checksum);
    })
    .map(({ uuid, name }) => name ?? uuid);
}

async function wasErasedSince(db: Queryable, nodeUuid: string, flowUuid: string): Promise<boolean> {
  const [wrote] = await db.select({ startedAt: flows.startedAt }).from(flows).where(eq(flows.uuid, flowUuid));
  if (!wrote) return true; // long ago
  const [erased] = await db
    .select({ uuid: flowSteps.uuid })
    .from(flowSteps)
    .innerJoin(flows, eq(flows.uuid, flowSteps.flowUuid))
    .where(
      and(
        eq(flows.nodeUuid, nodeUuid),
        gt(flows.startedAt, wrote.startedAt),
        inArray(flowSteps.step, [...erasingSteps]),
        isNotNull(flowSteps.startedAt),
      ),
    )
    .limit(1);
  return erased !== undefined;
}
