import { hostname } from 'node:os';
import { type CpuInfo, readCpu } from '#agent/hardware/inventory-cpu.ts';
import { type InterfaceInfo, readInterfaces } from '#agent/hardware/inventory-interfaces.ts';
import { type BootInfo, readBoot, readMemory, readSystemVendor } from '#agent/hardware/inventory-system.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import type { Run } from '#shared/process/run.ts';

/** Where the kernel tells about the machine; other roots only in tests. */
export interface KernelRoots {
  readonly sys: string;
  readonly proc: string;
}

const kernelRoots: KernelRoots = { sys: '/sys', proc: '/proc' };

/** A disk in the inventory: byte sizes, `null` where the hardware is silent. */
interface DiskInfo {
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

/**
 * Reads the machine's inventory from /sys, /proc and lsblk; the BMC's address through `ipmitool` where there is one.
 * @throws AppError when the block devices can't be listed.
 */
export async function readInventory(options: {
  readonly run: Run;
  readonly bootMac?: string | undefined;
  readonly roots?: KernelRoots;
}): Promise<Inventory> {
  const roots = options.roots ?? kernelRoots;
  const [interfaces, cpu, devices, memory, bmc, vendor, boot] = await Promise.all([
    readInterfaces(roots),
    readCpu(roots),
    listBlockDevices(options.run),
    readMemory(roots),
    readBmc(options.run),
    readSystemVendor(roots),
    readBoot(roots, options.bootMac),
  ]);
  return {
    interfaces,
    cpu,
    disks: devices.filter(isInstallable).map(toDiskInfo),
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

function toDiskInfo(device: BlockDevice): DiskInfo {
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
  };
}

async function readBmc(run: Run): Promise<Pick<Inventory, 'bmc_address' | 'bmc_v6address' | 'bmc_mac'>> {
  const output = await run('ipmitool', ['lan', 'print', '1'], { timeoutMs: 10_000 }).then(
    ({ stdout }) => stdout,
    () => '', // no ipmitool, no IPMI device or no LAN channel: a machine without a BMC address, not an error
  );
  const field = (name: string): string | null => new RegExp(`^${name}\\s*: (\\S+)`, 'm').exec(output)?.[1] ?? null;
  const address = field('IP Address');
  return { bmc_address: address === '0.0.0.0' ? null : address, bmc_v6address: null, bmc_mac: field('MAC Address') };
}
