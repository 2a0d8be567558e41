import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeployedSystem, findRootFileSystem, withDeployedSystem } from '#agent/boot/deployed-system.ts';
import { type NewBootEntry } from '#agent/boot/efibootmgr.ts';
import { type DeployedDisk, devicesOf, findDeployedDisk } from '#agent/boot/find-deployed-disk.ts';
import { type FoundLoaders, findLoaders, readFirmwareArchitecture } from '#agent/boot/find-loaders.ts';
import { configureGrub, installBiosGrub, installEfiGrub } from '#agent/boot/grub.ts';
import { readKnownPartitions } from '#agent/boot/known-partitions.ts';
import { bootSectorKind, findLoader, type ProveKernel, type WholeDiskSystem } from '#agent/boot/loader-kind.ts';
import { ensureBootPartitions } from '#agent/boot/raid-boot-partitions.ts';
import { type GrubPlatform, prepareGrub, writeBiosGrub } from '#agent/boot/ramdisk-grub.ts';
import { requireGrubReadable } from '#agent/boot/require-grub-readable.ts';
import { findEsps, findEspsWithLoader, spreadEsp } from '#agent/boot/spread-esp.ts';
import { writeBootEntries } from '#agent/boot/write-boot-entries.ts';
import type { AgentContext } from '#agent/context.ts';
import { eraseEfiDumps } from '#agent/erase/erase-pstore.ts';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import type { BlockDevice, ProbedPartition } from '#agent/storage/lsblk.ts';
import { partitionName, readPartitionTable } from '#agent/storage/partition-table.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** Parameters of `image.install_bootloader` (agent-protocol.md §4.1). */
export interface BootloaderParams {
  /** A disk identifier (`0x…`) for whole-disk images; a file system's uuid for partition images. */
  readonly root_uuid?: string | null | undefined;
  readonly efi_system_part_uuid?: string | null | undefined;
  readonly prep_boot_part_uuid?: string | null | undefined;
  readonly target_boot_mode: 'bios' | 'uefi';
  readonly ignore_bootloader_failure?: boolean | null | undefined;
}

type Context = Pick<AgentContext, 'run' | 'log' | 'node' | 'writtenImage' | 'imagePolicy'>;

/** The system that is to boot: the device that the image is on, and the disks that firmware knows it by. */
interface Target extends DeployedDisk {
  /** Its boot loader is made here; a whole-disk image, the only kind on RAID, brings its own configuration. */
  readonly isPartitionImage: boolean;
  /** UUID of the root file system, where the conductor knows it. */
  readonly rootUuid: string | undefined;
}

/**
 * Makes the machine boot what was written (agent-protocol.md §6.4, §7).
 * Partition images get the ramdisk's GRUB and a configuration of their kernels, or, where the conductor asks for it,
 * what the image's own GRUB tools make. UEFI: a boot entry for the loader on
 * the EFI system partition, first in the order; on RAID one for each disk, each with a copy of that partition. BIOS: a
 * whole-disk image brings its boot code, and that it is there is checked; on RAID every disk gets GRUB.
 * @returns warnings: what was not done, though the machine is expected to boot
 * @throws AppError `not_found` (no EFI system partition, loader, boot code, GRUB), `storage_error`, `conflict` for UEFI
 * in a ramdisk booted by a BIOS; none of these when failures are to be ignored.
 */
export async function installBootloader(
  context: Context,
  params: BootloaderParams,
  prove: ProveKernel,
): Promise<readonly string[]> {
  try {
    const target = await findTarget(context, params);
    if (params.target_boot_mode === 'uefi') return await installUefi(context, target, prove);
    return await installBios(context, target, prove);
  } catch (error) {
    if (!params.ignore_bootloader_failure) throw error;
    context.log.warn({ err: error }, 'boot loader not installed, as the conductor allows');
    return [`the boot loader is not installed, which is allowed: ${errorChain(error)}`];
  }
}

async function findTarget(context: Context, params: BootloaderParams): Promise<Target> {
  if (params.prep_boot_part_uuid) {
    throw new AppError('not_supported', 'boot loaders on PReP partitions (prep_boot_part_uuid) are not supported');
  }
  const deployed = await findDeployedDisk(context);
  const isDiskId = !params.root_uuid || params.root_uuid.startsWith('0x');
  if (isDiskId && params.efi_system_part_uuid) {
    throw new AppError(
      'invalid_argument',
      'efi_system_part_uuid is given without the root_uuid of a file system: a partition image needs both',
    );
  }
  return {
    ...deployed,
    isPartitionImage: !isDiskId && !deployed.isRaid,
    rootUuid: isDiskId ? undefined : (params.root_uuid ?? undefined),
  };
}

/** @returns warnings */
async function installUefi(context: Context, target: Target, prove: ProveKernel): Promise<readonly string[]> {
  const { run, log } = context;
  if ((await readBootMode()) !== 'uefi') {
    throw new AppError(
      'conflict',
      'cannot create a UEFI boot entry: this ramdisk was booted in BIOS mode, so there are no EFI variables',
    );
  }
  const esps = findEsps(target.device.name, target.partitions);
  const [esp] = esps;
  if (target.isPartitionImage) {
    if (context.imagePolicy?.runImagePrograms) {
      await inSystem(context, target, esp, (system) => installEfiGrub(system, process.arch));
    } else {
      await installOwnEfiGrub(context, target, esp);
    }
  }
  const { found, warnings: unseen } = target.isRaid
    ? await raidPlaces(context, target, esps)
    : await plainPlaces(run, target, esps);
  const { partitions } = target;
  const unproved = target.isPartitionImage ? [] : await prove(run, { partitions, ...(await loaderOf(run, found)) });
  const entries = composeEntries(found);
  const known = await readKnownPartitions(run, log);
  const files = found.flatMap(({ places, files: there }) =>
    places.flatMap(({ device, partition }) => {
      const id = known.ids.get(partitionName(device, partition));
      return id === undefined ? [] : [[id, there] as const];
    }),
  );
  const hasRemovablePath = found.some((each) => each.hasRemovablePath);
  const looked = { known, files: new Map(files), hasRemovablePath };
  const { removed, warnings } = await writeBootEntries(run, entries, looked, () => dropDumps(log));
  log.info({ device: target.device.name, entries, removed }, 'boot entries written');
  return [...unseen, ...unproved, ...warnings];
}

/** Makes entries for all loaders, in the order in which firmware is to try them. */
export function composeEntries(found: readonly Pick<FoundPlaces, 'loaders' | 'places'>[]): readonly NewBootEntry[] {
  return found.flatMap(({ loaders, places }) =>
    loaders.flatMap(({ path, ...loader }) =>
      places.map(({ suffix, ...place }) => ({ ...place, ...loader, label: `${loader.label}${suffix}`, loader: path })),
    ),
  );
}

async function dropDumps(log: Log): Promise<void> {
  try {
    const removed = await eraseEfiDumps();
    log.warn({ removed }, "the firmware's memory may be full: kernels' crash dumps are removed");
  } catch (error) {
    log.warn({ err: error }, "crash dumps in the firmware's memory could not be removed");
  }
}

/** Loaders, and the partitions on which firmware finds them. */
interface FoundPlaces extends FoundLoaders {
  /** The partition, or array of such, that they are on. */
  readonly device: string;
  /** `suffix` of the labels of entries there. */
  readonly places: readonly (Pick<NewBootEntry, 'device' | 'partition'> & { readonly suffix: string })[];
}

interface AllPlaces {
  /** Loaders and places of each EFI system partition that is to be booted from. */
  readonly found: readonly FoundPlaces[];
  readonly warnings: readonly string[];
}

/** @throws AppError `not_found` as for the first one, where none of them has a loader */
async function plainPlaces(run: Run, target: Target, esps: readonly ProbedPartition[]): Promise<AllPlaces> {
  const formatted = esps.filter(({ fsType }) => fsType === 'vfat');
  const { found, without, warnings } = await findEspsWithLoader(formatted.length > 0 ? formatted : esps, (device) =>
    loadersOn(run, device),
  );
  if (found.length === 0) throw without;
  const device = target.device.name;
  return {
    found: found.map(({ esp, on }) => ({
      ...on,
      device: esp.name,
      places: [{ device, partition: esp.number, suffix: '' }],
    })),
    warnings,
  };
}

async function raidPlaces({ run }: Context, target: Target, esps: readonly ProbedPartition[]): Promise<AllPlaces> {
  const formatted = esps.filter(({ fsType }) => fsType === 'vfat');
  const { found, without, warnings } = await findEspsWithLoader(formatted, (device) => loadersOn(run, device));
  const [first, ...others] = found.map(({ esp }) => esp);
  const spread = await spreadEsp(run, target.disks, first).catch((error: unknown) => {
    // there is an EFI system partition, and that it has no loader says more than that none was spread before
    throw without !== undefined && errorCode(error) === 'not_found' ? without : error;
  });
  const on = await loadersOn(run, spread.device);
  const places = spread.holders.map(({ disk, number }, index) => ({
    device: disk,
    partition: number,
    suffix: ` (RAID, part${index})`,
  }));
  const left = others.map(
    ({ name }) =>
      `the image has a second EFI system partition with a loader, ${name}: inside the array no firmware reads it, and the ` +
      `machine boots by ${first?.name}`,
  );
  return { found: [{ ...on, device: spread.device, places }], warnings: [...warnings, ...left] };
}

/** The loader that the firmware tries first. */
async function loaderOf(
  run: Run,
  found: readonly FoundPlaces[],
): Promise<Pick<WholeDiskSystem, 'loader' | 'configured'>> {
  const inOrder = found.flatMap(({ device, loaders }) => loaders.map(({ path }) => ({ device, path })));
  const [first] = inOrder;
  if (!first) return { loader: undefined };
  const { device } = first;
  const started = await withMounted(run, device, readOnlyEsp, (root) => findLoader(root, first.path));
  return { loader: started?.kind, configured: started && { by: 'image', device, path: started.file } };
}

const readOnlyEsp = { type: 'vfat', options: ['ro', 'nosuid', 'nodev', 'noexec'] } as const;

async function loadersOn(run: Run, device: string): Promise<FoundLoaders> {
  const architecture = await readFirmwareArchitecture();
  return withMounted(run, device, readOnlyEsp, (root) => findLoaders(root, architecture));
}

/** @returns warnings */
async function installBios(context: Context, target: Target, prove: ProveKernel): Promise<readonly string[]> {
  const { partitions } = target;
  if (!target.isRaid && !target.isPartitionImage) {
    return prove(context.run, { partitions, loader: bootSectorKind(await readBootCode(target.device)) });
  }
  if (target.isRaid) await ensureBootPartitions(context.run, target.disks, 'bios');
  const disks = target.disks.map(({ name }) => name);
  let configured: WholeDiskSystem['configured'];
  if (target.isPartitionImage && context.imagePolicy?.runImagePrograms) {
    await inSystem(context, target, undefined, (system) => installBiosGrub(system, disks));
  } else {
    const { core, root } = await ownGrub(context, target, 'i386-pc');
    configured = { by: 'Baton', root: root.name };
    for (const disk of disks) await writeBiosGrub(context.run, disk, core);
  }
  context.log.info({ disks }, 'GRUB installed for BIOS');
  return target.isPartitionImage ? [] : prove(context.run, { partitions, loader: 'GRUB', configured });
}

/** Puts the ramdisk's GRUB into the deployed system; answers its core, and the root file system. */
async function ownGrub({ run }: Context, target: Target, platform: GrubPlatform) {
  const root = await findRootFileSystem(run, target.partitions, target.rootUuid);
  const uuid = root.fsUuid;
  if (uuid === null) throw new AppError('not_found', `the file system of ${root.name} has no UUID to be found by`);
  const { subvolume } = root;
  const core = await withMounted(run, root.name, mountHarmless('rw', subvolume), (folder) =>
    prepareGrub(run, { folder, uuid, subvolume }, { platform, configure: target.isPartitionImage }),
  );
  await requireGrubReadable(run, root);
  return { core, root };
}

/** Under the name that firmware looks for by itself; boot entries are the caller's to write. */
async function installOwnEfiGrub(context: Context, target: Target, esp: ProbedPartition): Promise<void> {
  if (process.arch !== 'x64') {
    throw new AppError('not_supported', `GRUB for UEFI on ${process.arch} is not supported: it is on x64`);
  }
  const { core } = await ownGrub(context, target, 'x86_64-efi');
  await withMounted(
    context.run,
    esp.name,
    { type: 'vfat', options: ['rw', 'nosuid', 'nodev', 'noexec'] },
    async (root) => {
      const folder = join(root, 'EFI/BOOT');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'BOOTX64.EFI'), core, { flush: true });
    },
  );
}

/** Lets the GRUB tools of a partition image work in it; its configuration is written too. */
async function inSystem(
  { run }: Context,
  target: Target,
  esp: ProbedPartition | undefined,
  install: (system: DeployedSystem) => Promise<void>,
): Promise<void> {
  const root = await findRootFileSystem(run, target.partitions, target.rootUuid);
  const devices = devicesOf(target);
  await withDeployedSystem(run, { root, espDevice: esp?.name, devices }, async (system) => {
    await install(system);
    await configureGrub(system);
  });
  await waitForUdev(run);
}

/** The first sector of a whole-disk image for BIOS, which brings its own boot code; without it the machine would just hang. */
async function readBootCode(device: BlockDevice): Promise<Buffer> {
  const handle = await open(device.name, 'r');
  try {
    const head = Buffer.alloc(8192);
    await handle.read(head, 0, head.length, 0);
    if (readPartitionTable(head).hasBootCode) return head.subarray(0, 512);
  } finally {
    await handle.close();
  }
  throw new AppError(
    'not_found',
    `disk ${device.name} has no boot code in its first sector: a BIOS can't boot the image`,
  );
}
