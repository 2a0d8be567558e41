import { readdir, readFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { readAttribute } from '#agent/machine/network-interfaces.ts';
import { filledIn, realSerial, realUuid } from '#shared/machine-identity.ts';

export interface BootInfo {
  readonly current_boot_mode: 'uefi' | 'bios';
  /** MAC address of the NIC that the machine booted from; conductors compare it with the interfaces'. */
  readonly pxe_interface: string | null;
}

/** `total`: bytes that Linux has; `physical_mb`: MiB of the memory blocks that the machine has; `null` = not known. */
export async function readMemory(roots: {
  readonly sys: string;
  readonly proc: string;
}): Promise<{ readonly total: number | null; readonly physical_mb: number | null }> {
  const memInfo = await readFile(join(roots.proc, 'meminfo'), 'utf8');
  const kib = /^MemTotal:\s+(\d+) kB/m.exec(memInfo)?.[1];
  const total = kib === undefined ? null : Number(kib) * 1024;
  const fromTotal = total === null ? null : Math.round(total / 1024 ** 2);
  return { total, physical_mb: (await readMemoryBlocks(roots.sys)) ?? fromTotal };
}

/** MiB of the memory blocks; `null` where the kernel doesn't show them. */
async function readMemoryBlocks(sysRoot: string): Promise<number | null> {
  const root = join(sysRoot, 'devices/system/memory');
  const blockBytes = Number.parseInt((await readAttribute(root, 'block_size_bytes')) ?? '', 16);
  if (!(blockBytes > 0)) return null;
  const blocks = (await readdir(root)).filter((name) => /^memory\d+$/.test(name));
  return Math.round((blocks.length * blockBytes) / 1024 ** 2);
}

/** Ironic's agent has empty texts where a maker has written nothing. */
export async function readSystemVendor(roots: { readonly sys: string }): Promise<{
  readonly product_name: string;
  readonly serial_number: string;
  readonly manufacturer: string;
  /**
   * UUID as Linux shows it, which is as kubelets report it: a step that takes a machine out of a cluster compares the
   * two.
   */
  readonly baton_system_uuid: string | null;
  readonly firmware: { readonly vendor: string; readonly version: string; readonly build_date: string };
}> {
  const read = (name: string): Promise<string | null> => readAttribute(join(roots.sys, 'class/dmi/id'), name);
  const uuid = await read('product_uuid');
  return {
    product_name: filledIn(await read('product_name')) ?? '',
    serial_number: realSerial(await read('product_serial')) ?? '',
    manufacturer: filledIn(await read('sys_vendor')) ?? '',
    baton_system_uuid: realUuid(uuid) === null ? null : uuid,
    firmware: {
      vendor: filledIn(await read('bios_vendor')) ?? '',
      version: (await read('bios_version')) ?? '',
      build_date: (await read('bios_date')) ?? '',
    },
  };
}

export async function readBoot(roots: { readonly sys: string }, bootMac: string | undefined): Promise<BootInfo> {
  return { current_boot_mode: await readBootMode(roots.sys), pxe_interface: bootMac ?? null };
}

export interface CpuInfo {
  readonly model_name: string;
  /** MHz as text; empty when unknown. */
  readonly frequency: string;
  /** Logical processors; `null`: the kernel lists them in another form. */
  readonly count: number | null;
  /** Architecture as `uname -m` says it: `x86_64`. */
  readonly architecture: string;
  readonly flags: readonly string[];
  /** `null`: the kernel doesn't say, as on many ARM machines. */
  readonly socket_count: number | null;
  /** Baton's own: the microcode's revision. */
  readonly baton_microcode: string | null;
}

const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64', ppc64: 'ppc64le' };

export async function readCpu(roots: { readonly sys: string; readonly proc: string }): Promise<CpuInfo> {
  const cpuInfo = await readFile(join(roots.proc, 'cpuinfo'), 'utf8');
  const processors = cpuInfo.split('\n\n').filter((block) => /^processor\s*:/m.test(block));
  const field = (block: string, name: string): string => new RegExp(`^${name}\\s*: ?(.*)$`, 'm').exec(block)?.[1] ?? '';
  const first = processors[0] ?? '';
  const maxKhz = await readAttribute(join(roots.sys, 'devices/system/cpu/cpu0/cpufreq'), 'cpuinfo_max_freq');
  return {
    model_name: field(first, 'model name'),
    frequency: maxKhz === null ? field(first, 'cpu MHz') : String(Number(maxKhz) / 1000),
    count: processors.length || null,
    architecture: architectures[arch()] ?? arch(),
    flags: (field(first, 'flags') || field(first, 'Features')).split(' ').filter(Boolean),
    socket_count: await countSockets(roots.sys),
    baton_microcode: field(first, 'microcode') || null,
  };
}

async function countSockets(sysRoot: string): Promise<number | null> {
  const root = join(sysRoot, 'devices/system/cpu');
  const names = await readdir(root).catch((): string[] => []);
  const packages = await Promise.all(
    names
      .filter((name) => /^cpu\d+$/.test(name))
      .map((name) => readAttribute(join(root, name, 'topology'), 'physical_package_id')),
  );
  // a processor that is off has none, and the kernel writes -1 where the firmware has not told
  const sockets = new Set(packages.filter((id) => id !== null && id !== '-1'));
  return sockets.size || null;
}
