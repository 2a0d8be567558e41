import { copyFile, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findGrubFolder,
  quoteForGrub,
  readBootableSystem,
  renderConfiguration,
} from '#agent/boot/grub-configuration.ts';
import { placeFile } from '#agent/inject/inject-files.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { mountedSubvolume } from '#agent/storage/file-systems/mounted-subvolume.ts';
import { partitionsIn, readDiskTable } from '#agent/storage/sfdisk.ts';
import { bootCode, placedCore } from '#shared/disks/grub-boot-sectors.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Makes a deployed system boot by the ramdisk's own GRUB, without running anything of the system's: as `grub-install`
 * and `update-grub` do, but for probing devices, whose answers are known here.
 */

export type GrubPlatform = 'i386-pc' | 'x86_64-efi';

/**
 * Modules that GRUB needs to find its others on any root file system that the agent writes, plain or on software RAID.
 */
const coreModules = 'part_gpt part_msdos ext2 xfs btrfs fat mdraid09 mdraid1x diskfilter search_fs_uuid'.split(' ');

const ramdiskModules = '/usr/lib/grub';
const biosBootType = '21686148-6449-6e6f-744e-656564454649';
const sectorBytes = 512;

/** The root file system of what was deployed, mounted. */
export interface GrubRoot {
  readonly folder: string;
  readonly uuid: string;
  /** The root's, where it is not what Linux mounts by itself: the kernel has to be given it. */
  readonly subvolume?: string | undefined;
}

/**
 * Puts the modules of the ramdisk's GRUB beside the system's configuration, which is written where the system has none
 * that fits (`configure`), and makes the core that reads them.
 * @returns the core: for BIOS `core.img`, for UEFI a program of the firmware
 * @throws AppError `not_found` when a configuration that is to be there is not, `not_supported`, `storage_error`
 */
export async function prepareGrub(
  run: Run,
  root: GrubRoot,
  { platform, configure }: { readonly platform: GrubPlatform; readonly configure: boolean },
): Promise<Buffer> {
  const folder = await findGrubFolder(root.folder);
  const subvolume = await mountedSubvolume(root.folder);
  if (configure) {
    const at = { rootUuid: root.uuid, subvolume, isNamed: root.subvolume !== undefined };
    const text = renderConfiguration(await readBootableSystem(root.folder), at);
    await placeFile(root.folder, { path: `/${folder}/grub.cfg` }, Buffer.from(text));
  } else {
    await requireConfiguration(root.folder, folder);
  }
  await copyModules(await resolveInside(root.folder, `${folder}/${platform}`), platform);
  return makeCore(run, root.uuid, { platform, prefix: `${subvolume}/${folder}` });
}

/**
 * The configuration of a whole-disk image. A boot partition of its own is not mounted here: GRUB would be installed, and
 * the machine would stop at its prompt.
 */
async function requireConfiguration(root: string, folder: string): Promise<void> {
  const text = await readFile(await resolveInside(root, `${folder}/grub.cfg`), 'utf8').catch((cause: unknown) => {
    throw new AppError(
      'not_found',
      `the image's root file system has no /${folder}/grub.cfg, so GRUB would not start it; a separate /boot is not supported on RAID under BIOS`,
      { cause },
    );
  });
  if (!/^\s*blscfg\b/m.test(text)) return;
  throw new AppError(
    'not_supported',
    "the image's GRUB configuration needs the command blscfg, which the ramdisk's GRUB does not have: use UEFI",
  );
}

async function copyModules(target: string, platform: GrubPlatform): Promise<void> {
  const source = join(ramdiskModules, platform);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  for (const name of await readdir(source)) await copyFile(join(source, name), join(target, name));
}

async function makeCore(
  run: Run,
  rootUuid: string,
  { platform, prefix }: { readonly platform: GrubPlatform; readonly prefix: string },
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-grub-'));
  try {
    const [early, core] = [join(folder, 'early.cfg'), join(folder, 'core')];
    await writeFile(early, `search.fs_uuid ${rootUuid} root\nset prefix=($root)${quoteForGrub(prefix)}\n`);
    const own = platform === 'i386-pc' ? ['biosdisk'] : [];
    const options = [`--directory=${join(ramdiskModules, platform)}`, `--format=${platform}`, `--prefix=${prefix}`];
    await run('grub-mkimage', [...options, `--config=${early}`, `--output=${core}`, ...coreModules, ...own]);
    return await readFile(core);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Writes boot code and core to a disk: into its BIOS boot partition, or before the first partition of an MBR.
 * @throws AppError `storage_error` naming the disk that has no room for it
 */
export async function writeBiosGrub(run: Run, disk: string, core: Buffer): Promise<void> {
  const table = await readDiskTable(run, disk);
  const partitions = partitionsIn(table, disk);
  const boot = partitions.find(({ type }) => type === biosBootType);
  const first = Math.min(...partitions.map(({ startBytes }) => startBytes));
  const room =
    table.label === 'msdos'
      ? { start: sectorBytes, bytes: first - sectorBytes }
      : boot && { start: boot.startBytes, bytes: boot.sizeBytes };
  if (!room) throw new AppError('storage_error', `${disk} has no BIOS boot partition, where GRUB's core would go`);
  const sector = room.start / sectorBytes;
  const bootImage = await readFile(join(ramdiskModules, 'i386-pc', 'boot.img'));
  await using device = await open(disk, 'r+');
  await device.write(placedCore(core, sector, room.bytes), 0, undefined, room.start);
  await device.write(bootCode(bootImage, sector), 0, undefined, 0);
  await device.sync();
}
