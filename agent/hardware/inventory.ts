import { hostname } from 'node:os';
import { type BmcInfo, readBmc } from '#agent/hardware/inventory-bmc.ts';
import { type Boards, readBoards } from '#agent/hardware/inventory-boards.ts';
import { readContents } from '#agent/hardware/inventory-contents.ts';
import { type DiskSaying, readHealth } from '#agent/hardware/inventory-health.ts';
import { type PciInventory, readPci } from '#agent/machine/inventory-pci.ts';
import {
  type BootInfo,
  type CpuInfo,
  readBoot,
  readCpu,
  readMemory,
  readSystemVendor,
} from '#agent/machine/inventory-system.ts';
import { type InterfaceInfo, readInterfaces } from '#agent/machine/network-interfaces.ts';
import type { LldpByNic } from '#agent/network/listen-lldp.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import { readRestingArrays } from '#agent/storage/resting-arrays.ts';
import { isNoDisk, type RestingArray } from '#shared/disks/disk.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { DiskContent, DiskHealth, MemoryModule } from '#shared/wire/inventory.ts';

/** Where the kernel describes the machine; other roots only in tests. */
export interface KernelRoots {
  readonly sys: string;
  readonly proc: string;
}

const kernelRoots: KernelRoots = { sys: '/sys', proc: '/proc' };

/** A disk in the inventory: byte sizes, `null` where the hardware is silent. */
export interface DiskInfo {
  readonly name: string;
  readonly model: string | null;
  readonly size: number;
  readonly rotational: boolean | null;
  readonly wwn: string | null;
  readonly serial: string | null;
  readonly vendor: string | null;
  readonly wwn_with_extension: string | null;
  readonly wwn_vendor_extension: string | null;
  readonly hctl: string | null;
  readonly by_path: string | null;
  readonly logical_sectors: number;
  readonly physical_sectors: number;
  readonly tran: string | null;
  /** Baton's own: all that the disk is known by, of which the fields above show one each. */
  readonly baton_serials: readonly string[];
  readonly baton_wwns: readonly string[];
  /** Below `/dev/disk/by-path`, `/dev/disk/by-id` and, of arrays, `/dev/md`. */
  readonly baton_links: readonly string[];
  /** Why these could not be read in full; `null`: they were. */
  readonly baton_unread: string | null;
  /** Why it may have more of these. */
  readonly baton_unnamed?: string;
  /** Baton's own. */
  readonly baton_removable: boolean;
  /** Baton's own: what stands on it; `null` when it can't be read. */
  readonly baton_contents: readonly DiskContent[] | null;
  /** Baton's own: RAID arrays that it is a member of, and that are not assembled. */
  readonly baton_resting_arrays: readonly RestingArray[];
  readonly baton_firmware: string | null;
  /** `null` where it says nothing. */
  readonly baton_health: DiskHealth | null;
}

/** The machine as Ironic's agent describes it (agent-protocol.md §2.5), and what is Baton's own: what begins with `baton_`. */
export interface Inventory extends BmcInfo, PciInventory {
  readonly interfaces: readonly InterfaceInfo[];
  readonly cpu: CpuInfo;
  readonly disks: readonly DiskInfo[];
  readonly memory: {
    readonly total: number | null;
    readonly physical_mb: number | null;
    /** Places for modules; `null` where the firmware says nothing of them. */
    readonly baton_slots: number | null;
    readonly baton_modules: readonly MemoryModule[] | null;
  };
  readonly system_vendor: Awaited<ReturnType<typeof readSystemVendor>> & {
    readonly baton_board: Boards['board'];
    readonly baton_chassis: Boards['chassis'];
  };
  readonly boot: BootInfo;
  readonly hostname: string;
}

export interface InventoryOptions {
  readonly run: Run;
  readonly log: Log;
  readonly bootMac?: string | undefined;
  /** LLDP data of switches, once it is known. */
  readonly lldp?: Promise<LldpByNic> | undefined;
  readonly roots?: KernelRoots;
  /** Other ones only in tests. */
  readonly readBoards?: typeof readBoards;
}

/**
 * Reads the machine's inventory from /sys, /proc, lsblk and blkid; the BMC's address through `ipmitool` where there is
 * one, what the firmware and the disks say of themselves by `dmidecode` and `smartctl`.
 * @throws AppError when the block devices can't be listed.
 */
export async function readInventory(options: InventoryOptions): Promise<Inventory> {
  const { run, log, roots = kernelRoots } = options;
  const [interfaces, cpu, devices, memory, bmc, vendor, boot, pci, boards] = await Promise.all([
    readInterfaces(roots, run, await options.lldp),
    readCpu(roots),
    listBlockDevices(run),
    readMemory(roots),
    readBmc(run),
    readSystemVendor(roots),
    readBoot(roots, options.bootMac),
    readPci(run, log),
    (options.readBoards ?? readBoards)(run),
  ]);
  const disks = devices.filter(isInstallable).map(async (device) => {
    const [contents, saying, restingArrays] = await Promise.all([
      readContents(device, { run, devices, log }),
      device.type === 'disk' ? readHealth(run, device.name, log) : silent,
      readRestingArrays(run, device, devices),
    ]);
    return toDiskInfo({ ...device, restingArrays }, contents, saying);
  });
  return {
    interfaces,
    cpu,
    disks: await Promise.all(disks),
    memory: { ...memory, baton_slots: boards.slots, baton_modules: boards.modules },
    ...bmc,
    ...pci,
    system_vendor: { ...vendor, baton_board: boards.board, baton_chassis: boards.chassis },
    boot,
    hostname: hostname(),
  };
}

/** RAID volumes: their members say it. */
const silent: DiskSaying = { firmware: null, health: null };

function isInstallable(device: BlockDevice): boolean {
  const isDisk = device.type === 'disk' && !isNoDisk(device.name);
  return (isDisk || device.type.startsWith('raid')) && device.sizeBytes > 0 && !device.readOnly;
}

/** A disk as the inventory has it. */
export function toDiskInfo(device: BlockDevice, contents: readonly DiskContent[] | null, saying: DiskSaying): DiskInfo {
  return {
    name: device.name,
    model: device.model,
    size: device.sizeBytes,
    rotational: device.rotational,
    wwn: device.wwn,
    serial: device.serial,
    vendor: device.vendor,
    wwn_with_extension: device.wwnWithExtension,
    wwn_vendor_extension: device.wwnVendorExtension,
    hctl: device.hctl,
    by_path: device.byPath,
    logical_sectors: device.logicalSectorBytes,
    physical_sectors: device.physicalSectorBytes,
    tran: device.tran,
    baton_serials: device.serials,
    baton_wwns: device.wwns,
    baton_links: device.links,
    baton_unread: device.unread ?? null,
    ...(device.unnamed === undefined ? {} : { baton_unnamed: device.unnamed }),
    baton_removable: device.removable,
    baton_contents: contents,
    baton_resting_arrays: device.restingArrays ?? [],
    baton_firmware: saying.firmware,
    baton_health: saying.health,
  };
}
