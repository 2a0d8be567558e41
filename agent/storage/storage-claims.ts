import { open } from 'node:fs/promises';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { type PhysicalVolume, type ReadBytes, readPhysicalVolume } from '#agent/storage/lvm-label.ts';
import { parseDetail } from '#agent/storage/mdadm.ts';
import { blkidProperty, probeSignatures } from '#agent/storage/partition-table.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Claim by which several disks are one thing, as their superblocks report it: nothing is assembled, nothing is written.
 */
export interface StorageClaim {
  /** The whole disk, `/dev/sda`. */
  readonly disk: string;
  /** Where it stands, `/dev/sda2`. */
  readonly device: string;
  readonly kind: 'RAID array' | 'volume group' | 'btrfs file system' | 'ZFS pool';
  /** The same on each disk that belongs to it. */
  readonly id: string;
  readonly name: string;
}

export interface StorageSurvey {
  readonly claims: readonly StorageClaim[];
  /** Disks with something inside that can't be looked into from outside: members of arrays, encrypted volumes. */
  readonly opaque: ReadonlySet<string>;
  /** Volume groups that have members nowhere to be seen. */
  readonly incomplete: readonly (StorageClaim & { readonly missing: readonly string[] })[];
}

interface FoundVolume {
  readonly disk: string;
  readonly device: string;
  readonly volume: PhysicalVolume;
}

interface Found {
  readonly claims: readonly StorageClaim[];
  readonly volume: FoundVolume | undefined;
  readonly isOpaque: boolean;
}

const sectorBytes = 512;

/**
 * Looks at the superblocks of disks and their partitions.
 * @throws AppError `command_failed`, `storage_error` naming what can't be read: who does not know must not wipe.
 */
export async function surveyStorage(
  run: Run,
  disks: readonly BlockDevice[],
  read: ReadBytes = readDevice,
): Promise<StorageSurvey> {
  const places = disks.flatMap((disk) =>
    [disk.name, ...disk.partitions.map(({ name }) => name)].map((device) => ({ disk: disk.name, device })),
  );
  const found = await Promise.all(places.map(async (place) => ({ place, ...(await look(run, place, read)) })));
  const volumes = found.flatMap(({ volume }) => volume ?? []);
  return {
    claims: [...found.flatMap(({ claims }) => claims), ...groupClaims(volumes)],
    opaque: new Set(found.filter(({ isOpaque }) => isOpaque).map(({ place }) => place.disk)),
    incomplete: incompleteGroups(volumes),
  };
}

async function look(
  run: Run,
  place: { readonly disk: string; readonly device: string },
  read: ReadBytes,
): Promise<Found> {
  const { device } = place;
  // blkid and mdadm find nothing on a disk that can't be read, and say no more than that
  await read(device, 0, sectorBytes);
  const { stdout: blkid, contradicting } = await probeSignatures(run, device);
  if (contradicting.length > 0) {
    throw new AppError(
      'storage_error',
      `${device} has signatures that contradict each other (${contradicting.join(', ')}): which of them holds is not ` +
        'known. Remove the others (wipefs), or wipe without preserving local storage',
    );
  }
  const type = blkidProperty(blkid, 'TYPE');
  const id = blkidProperty(blkid, 'UUID') ?? '';
  const label = blkidProperty(blkid, 'LABEL') ?? id;
  const array = await examine(run, device);
  const volume =
    array || type === 'LVM2_member' ? await readPhysicalVolume(read, device, array?.dataOffset ?? 0) : undefined;
  return {
    claims: [
      ...(array ? [{ ...place, kind: 'RAID array' as const, id: array.uuid, name: array.name ?? array.uuid }] : []),
      ...(type === 'btrfs' ? [{ ...place, kind: 'btrfs file system' as const, id, name: label }] : []),
      ...(type === 'zfs_member' ? [{ ...place, kind: 'ZFS pool' as const, id, name: label }] : []),
    ],
    volume: volume && { ...place, volume },
    isOpaque: array !== undefined || type === 'crypto_LUKS',
  };
}

/** A member's superblock: which array it belongs to, and where its data begins. `undefined` = it is not a member. */
async function examine(
  run: Run,
  device: string,
): Promise<{ readonly uuid: string; readonly name: string | null; readonly dataOffset: number } | undefined> {
  // 1: no superblock
  const { stdout } = await run('mdadm', ['--examine', '--export', device], { okExitCodes: [0, 1] });
  const { uuid, name } = parseDetail(stdout);
  if (uuid === null) return undefined;
  const { stdout: text } = await run('mdadm', ['--examine', device], { okExitCodes: [0, 1] });
  const sectors = Number(/^\s*Data Offset : (\d+) sectors/m.exec(text)?.[1] ?? 0);
  return { uuid, name, dataOffset: sectors * sectorBytes };
}

/** A volume without a description is found in those of its group's other members. */
function groupClaims(volumes: readonly FoundVolume[]): readonly StorageClaim[] {
  const groups = volumes.flatMap(({ volume }) => volume.group ?? []);
  return volumes.flatMap(({ disk, device, volume }) => {
    const group = volume.group ?? groups.find(({ members }) => members.includes(volume.uuid));
    return group ? [{ disk, device, kind: 'volume group' as const, id: group.id, name: group.name }] : [];
  });
}

function incompleteGroups(volumes: readonly FoundVolume[]): StorageSurvey['incomplete'] {
  const seen = new Set(volumes.map(({ volume }) => volume.uuid));
  return volumes.flatMap(({ disk, device, volume: { group } }) => {
    const missing = (group?.members ?? []).filter((uuid) => !seen.has(uuid));
    return group && missing.length > 0
      ? [{ disk, device, kind: 'volume group' as const, id: group.id, name: group.name, missing }]
      : [];
  });
}

async function readDevice(device: string, offset: number, length: number): Promise<Buffer> {
  try {
    const handle = await open(device, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw new AppError('storage_error', `read ${device} at byte ${offset}`, { cause });
  }
}
