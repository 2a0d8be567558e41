import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { parseDetail } from '#agent/storage/mdadm.ts';
import type { RestingArray } from '#shared/disks/disk.ts';
import { canonicalWwn } from '#shared/disks/placeholders.ts';
import { mayNameArrays } from '#shared/disks/skip-list.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Adds to disks the RAID arrays that they are members of by their superblocks, where the skip list may name one: the ramdisk
 * assembles none behind anybody's back, and who names an array means the disks below it.
 */
export async function addRestingArrays(
  run: Run,
  properties: Readonly<Record<string, unknown>>,
  devices: readonly BlockDevice[],
): Promise<readonly BlockDevice[]> {
  if (!mayNameArrays(properties)) return devices;
  return Promise.all(
    devices.map(async (device) => ({ ...device, restingArrays: await readRestingArrays(run, device, devices) })),
  );
}

/** Reads the arrays of a disk's superblocks. @param devices all; an assembled array answers for itself */
export async function readRestingArrays(
  run: Run,
  device: BlockDevice,
  devices: readonly BlockDevice[],
): Promise<readonly RestingArray[]> {
  if (device.sizeBytes === 0 || device.type === 'rom') return [];
  const places = [device.name, ...device.partitions.map(({ name }) => name)];
  const found = await Promise.all(places.map(async (place) => (await examine(run, place)) ?? []));
  const assembled = new Set(
    devices.flatMap(({ type, wwns }) => (type.startsWith('raid') ? wwns.map(canonicalWwn) : [])),
  );
  return found.flat().filter(({ uuids }) => !uuids.some((uuid) => assembled.has(canonicalWwn(uuid))));
}

/** Reads the array of a member; `undefined` for what mdadm says is none. */
async function examine(run: Run, device: string): Promise<RestingArray | undefined> {
  const nameless = (why: string): RestingArray => ({ uuids: [], names: [], unread: why });
  try {
    const { stdout, stderr, exitCode } = await run('mdadm', ['--examine', '--export', device], {
      okExitCodes: [0, 1],
    });
    const { uuid } = parseDetail(stdout);
    if (uuid !== null) return arrayOf(device, uuid, stdout);
    // a partition table is no superblock either, and is answered with nothing
    if (exitCode === 0 ? stdout.trim() === '' : stderr.includes('No md superblock')) return undefined;
    return nameless(`mdadm says of ${device}: ${(stderr.trim() || stdout.trim()).slice(0, 200)}`);
  } catch (error) {
    if (errorCode(error) === 'aborted') throw error;
    return nameless(errorChain(error));
  }
}

/** Reads the array from mdadm's answer. */
function arrayOf(device: string, uuid: string, examined: string): RestingArray {
  const said = new Map([...examined.matchAll(/^(\w+)=(.+)$/gm)].map(([, key = '', value = '']) => [key, value.trim()]));
  const full = said.get('MD_NAME');
  const name = full?.replace(/^[^:]*:/, '');
  return {
    uuids: [uuid, uuid.replaceAll(':', '')],
    names: [
      `/dev/disk/by-id/md-uuid-${uuid}`,
      ...(full === undefined ? [] : [`/dev/disk/by-id/md-name-${full}`, `/dev/md/${name}`]),
      ...(name !== undefined && /^\d+$/.test(name) ? [`/dev/md${name}`] : []),
    ],
    // of firmware's RAID (IMSM, DDF) the superblock names the container, and its volumes have identifiers of their own
    ...(said.get('MD_LEVEL') === 'container'
      ? { unread: `volumes in the RAID container on ${device} are not read` }
      : {}),
  };
}
