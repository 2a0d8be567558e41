import { hostname } from 'node:os';
import { readBmc } from '#agent/hardware/inventory-bmc.ts';
import { readContents } from '#agent/hardware/inventory-contents.ts';
import {
  type BootInfo,
  type CpuInfo,
  readBoot,
  readCpu,
  readMemory,
  readSystemVendor,
} from '#agent/hardware/inventory-system.ts';
import { type InterfaceInfo, readInterfaces } from '#agent/hardware/network-interfaces.ts';
import type { HeardLldp } from '#agent/network/listen-lldp.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { DiskContent } from '#shared/wire/inventory.ts';

/** Where the kernel tells about the machine; other roots only in tests. */
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
  readonly rotational: boolean;
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
  /** Baton's own. */
  readonly baton_removable: boolean;
  /** Baton's own: what stands on it; `null` when it can't be read. */
  readonly baton_contents: readonly DiskContent[] | null;
}

/** The machine as Ironic's agent describes it (agent-protocol.md §2.5). */
export interface Inventory {
  readonly interfaces: readonly InterfaceInfo[];
  readonly cpu: CpuInfo;
  readonly disks: readonly DiskInfo[];
  readonly memory: { readonly total: number; readonly physical_mb: number };
  readonly bmc_address: string | null;
  readonly bmc_v6address: string | null;
  readonly bmc_mac: string | null;
  readonly system_vendor: Awaited<ReturnType<typeof readSystemVendor>>;
  readonly boot: BootInfo;
  readonly hostname: string;
}

export interface InventoryOptions {
  readonly run: Run;
  readonly log: Log;
  readonly bootMac?: string | undefined;
  /** What switches have said, once it is known. */
  readonly lldp?: Promise<HeardLldp> | undefined;
  readonly roots?: KernelRoots;
}

/**
 * Reads the machine's inventory from /sys, /proc, lsblk and blkid; the BMC's address through `ipmitool` where there is
 * one.
 * @throws AppError when the block devices can't be listed.
 */
export async function readInventory(options: InventoryOptions): Promise<Inventory> {
  const { run, log, roots = kernelRoots } = options;
  const [interfaces, cpu, devices, memory, bmc, vendor, boot] = await Promise.all([
    readInterfaces(roots, await options.lldp),
    readCpu(roots),
    listBlockDevices(run),
    readMemory(roots),
    readBmc(run),
    readSystemVendor(roots),
    readBoot(roots, options.bootMac),
  ]);
  const disks = devices
    .filter(isInstallable)
    .map(async (device) => toDiskInfo(device, await readContents(device, { run, devices, log })));
  return {
    interfaces,
    cpu,
    disks: await Promise.all(disks),
    memory,
    ...bmc,
    system_vendor: vendor,
    boot,
    hostname: hostname(),
  };
}

function isInstallable(device: BlockDevice): boolean {
  return (device.type === 'disk' || device.type.startsWith('raid')) && device.sizeBytes > 0 && !device.readOnly;
}

function toDiskInfo(device: BlockDevice, contents: readonly DiskContent[] | null): DiskInfo {
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
    baton_removable: device.removable,
    baton_contents: contents,
  };
}
