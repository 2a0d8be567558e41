import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type DeployedSystem,
  findRootFileSystem,
  type RootFileSystem,
  withDeployedSystem,
} from '#agent/boot/deployed-system.ts';
import { type DeployedDisk, devicesOf, findDeployedDisk } from '#agent/boot/find-deployed-disk.ts';
import { findEsps, findSpreadEsp } from '#agent/boot/spread-esp.ts';
import type { AgentContext } from '#agent/context.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

type Context = Pick<AgentContext, 'run' | 'node' | 'writtenImage'>;

/**
 * Finds the system that was deployed, whatever boot it was in, and mounts it as for a boot loader while `use` works in it:
 * on a disk or on software RAID, from a whole-disk or a partition image, its EFI system partition at /boot/efi.
 * @throws AppError `not_found` without a Linux system or a shell in it, `not_supported` on LVM, `conflict` where it is not
 * clear which EFI system partition is its own, `storage_error`; else what `use` throws
 */
export async function inDeployedSystem<T>(
  context: Context,
  use: (system: DeployedSystem, device: string) => Promise<T>,
): Promise<T> {
  const { run } = context;
  const disk = await findDeployedDisk(context);
  const root = await findRoot(context, disk);
  const esp = await findEspDevice(context, disk, root);
  try {
    const options = {
      root,
      espDevice: esp,
      devices: [...devicesOf(disk), ...(esp ? [esp] : [])],
      network: true,
    };
    return await withDeployedSystem(run, options, async (system) => {
      await requireShell(system);
      await lendResolver(system.root);
      return use(system, disk.device.name);
    });
  } finally {
    await waitForUdev(run);
  }
}

async function findRoot({ run, node, writtenImage }: Context, disk: DeployedDisk): Promise<RootFileSystem> {
  const { device, partitions } = disk;
  const written = writtenImage.current?.device === device.name ? writtenImage.current.rootUuid : null;
  // of a whole-disk image it is the disk's identifier, which identifies no file system
  const uuid = written === null || written.startsWith('0x') ? node.instance_info['image_rootfs_uuid'] : written;
  try {
    return await findRootFileSystem(run, partitions, typeof uuid === 'string' && uuid !== '' ? uuid : undefined);
  } catch (cause) {
    const lvm = partitions.filter(({ fsType }) => fsType === 'LVM2_member').map(({ name }) => name);
    if (errorCode(cause) !== 'not_found' || lvm.length === 0) throw cause;
    throw new AppError(
      'not_supported',
      `tasks can't run in a system whose root file system is on LVM (${lvm.join(', ')}): the ramdisk has no LVM`,
      { cause },
    );
  }
}

/** `undefined` for an image without one. */
async function findEspDevice(
  { run }: Context,
  { device, disks, isRaid, partitions }: DeployedDisk,
  root: RootFileSystem,
) {
  if (isRaid) return findSpreadEsp(run, disks);
  let esps: readonly ProbedPartition[];
  try {
    esps = findEsps(device.name, partitions).filter(({ fsType }) => fsType === 'vfat');
  } catch (error) {
    if (errorCode(error) === 'not_found') return undefined;
    throw error;
  }
  return esps.length > 1 ? chooseEsp(esps, await readFstab(run, root)) : esps[0]?.name;
}

async function readFstab(run: Run, { name, subvolume }: RootFileSystem): Promise<string> {
  return withMounted(run, name, mountHarmless('ro', subvolume), async (folder) => {
    try {
      return await readFile(await resolveInside(folder, 'etc/fstab'), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    }
  });
}

/**
 * The one of several EFI system partitions that the system itself mounts.
 * @throws AppError `conflict` where its `/etc/fstab` does not name exactly one
 */
export function chooseEsp(esps: readonly ProbedPartition[], fstab: string): string {
  const sources = [...fstab.matchAll(/^\s*([^\s#]\S*)\s+\/(?:boot\/)?efi\/?\s/gm)].map(([, source = '']) => source);
  const named = esps.filter((esp) => sources.some((source) => isSource(source, esp)));
  if (named.length === 1 && named[0]) return named[0].name;
  const listed = esps.map(({ name, fsUuid }) => `${name} (UUID ${fsUuid ?? 'unknown'})`).join(', ');
  throw new AppError(
    'conflict',
    `the disk has several EFI system partitions, ${listed}, and /etc/fstab of the deployed system ` +
      `${sources.length === 0 ? 'mounts none' : `mounts ${sources.join(', ')}, which is not one of them alone,`} at /boot/efi: ` +
      'name one by its UUID there, or leave the other out of the image',
  );
}

/** @param source such as `UUID=1234-ABCD`, `LABEL="EFI"`, `/dev/disk/by-uuid/1234-ABCD` */
function isSource(source: string, { fsUuid, fsLabel, partLabel }: ProbedPartition): boolean {
  const [, kind = '', value = ''] =
    /^(UUID|LABEL|PARTLABEL)="?([^"]+)"?$/.exec(source) ??
    /^\/dev\/disk\/by-(uuid|label|partlabel)\/(.+)$/.exec(source) ??
    [];
  if (kind.toLowerCase() === 'uuid') return fsUuid?.toLowerCase() === value.toLowerCase();
  if (kind.toLowerCase() === 'label') return fsLabel === value;
  return kind !== '' && partLabel === value;
}

/** Links are followed as the system would: `/bin/sh` may lead to `/bin/busybox`. */
async function requireShell({ root }: DeployedSystem): Promise<void> {
  try {
    await access(await resolveInside(root, 'bin/sh'), constants.X_OK);
  } catch (cause) {
    throw new AppError('not_found', 'the deployed system has no shell: there is no program /bin/sh in it', { cause });
  }
}

/**
 * Lets a deployed system resolve names with the ramdisk's name servers, where its own `/etc/resolv.conf` is a link into
 * `/run`, which is empty here: nothing of it stays on the disk. A file of its own is left as it is.
 */
export async function lendResolver(root: string, resolver = '/etc/resolv.conf'): Promise<void> {
  const target = await resolveInside(root, 'etc/resolv.conf');
  if (!target.startsWith(join(root, 'run/'))) return;
  let text: string;
  try {
    text = await readFile(resolver, 'utf8');
  } catch (error) {
    // a network without name servers
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, text);
}
