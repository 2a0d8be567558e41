import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { blkidProperty, probeSignatures } from '#agent/storage/partition-table.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Contents that are recognised on a disk or one of its partitions. */
interface Contents {
  readonly device: string;
  readonly type: string | null;
  readonly label: string | null;
  /** Type of the partition in its table, lower case. */
  readonly partitionType: string | null;
}

/**
 * File systems that several machines mount at once, over a SAN: to erase one here destroys what is in use elsewhere.
 * Some show in a superblock, some only in the partition's type (the second GUID is VMFS's, 0xfb its type in an MBR).
 */
const sharedTypes: readonly { readonly name: string; readonly matches: (contents: Contents) => boolean }[] = [
  { name: 'GPFS', matches: ({ partitionType }) => partitionType === '37affc90-ef7d-4e96-91c3-2d7ae055b174' },
  {
    name: 'VMFS',
    matches: ({ type, partitionType }) =>
      /^vmfs/i.test(type ?? '') || ['aa31e02a-400f-11db-9590-000c2911d1b8', '0xfb'].includes(partitionType ?? ''),
  },
  { name: 'GFS2', matches: ({ type }) => /^gfs2?$/i.test(type ?? '') },
  { name: 'OCFS2', matches: ({ type }) => /^ocfs2?$/i.test(type ?? '') },
];

/** Probes what is on the disks and their partitions now, by `blkid`'s low-level probing. */
export async function probeContents(run: Run, disks: readonly BlockDevice[]): Promise<readonly Contents[]> {
  const names = disks.flatMap((disk) => [disk.name, ...disk.partitions.map(({ name }) => name)]);
  const contents = names.map(async (device): Promise<readonly Contents[]> => {
    const { stdout, contradicting } = await probeSignatures(run, device);
    const found = readContents(device, stdout);
    // one of them may be a file system that other machines use
    return [found, ...contradicting.map((type) => ({ ...found, type }))];
  });
  return (await Promise.all(contents)).flat();
}

/** From `blkid --probe --output export`. */
export function readContents(device: string, stdout: string): Contents {
  return {
    device,
    type: blkidProperty(stdout, 'TYPE'),
    label: blkidProperty(stdout, 'LABEL'),
    partitionType: blkidProperty(stdout, 'PART_ENTRY_TYPE')?.toLowerCase() ?? null,
  };
}

/** @throws AppError `storage_error` naming device, file system and what allows it. */
export function requireNoSharedFileSystems(contents: readonly Contents[]): void {
  const found = contents.flatMap((each) => {
    const shared = sharedTypes.find(({ matches }) => matches(each));
    return shared ? [`${each.device} holds ${shared.name}`] : [];
  });
  if (found.length === 0) return;
  throw new AppError(
    'storage_error',
    `${found.join(', ')}: other machines may have it mounted. Put the disk on properties.skip_block_devices, ` +
      'or set driver_info.wipe_special_filesystems to erase it',
  );
}
