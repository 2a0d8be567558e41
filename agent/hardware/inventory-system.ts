import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readBootMode } from '#agent/boot/read-boot-mode.ts';
import { readAttribute } from '#agent/hardware/network-interfaces.ts';

export interface BootInfo {
  readonly current_boot_mode: 'uefi' | 'bios';
  /** MAC address of the NIC that the machine booted from; conductors compare it with the interfaces'. */
  readonly pxe_interface: string | null;
}

/** `total`: bytes that Linux has; `physical_mb`: MiB of the memory blocks that the machine has. */
export async function readMemory(roots: {
  readonly sys: string;
  readonly proc: string;
}): Promise<{ readonly total: number; readonly physical_mb: number }> {
  const memInfo = await readFile(join(roots.proc, 'meminfo'), 'utf8');
  const total = Number(/^MemTotal:\s+(\d+) kB/m.exec(memInfo)?.[1] ?? 0) * 1024;
  return { total, physical_mb: (await readMemoryBlocks(roots.sys)) ?? Math.round(total / 1024 ** 2) };
}

/** MiB of the memory blocks; `null` where the kernel doesn't show them. */
async function readMemoryBlocks(sysRoot: string): Promise<number | null> {
  const root = join(sysRoot, 'devices/system/memory');
  const blockBytes = Number.parseInt((await readAttribute(root, 'block_size_bytes')) ?? '', 16);
  if (!(blockBytes > 0)) return null;
  const blocks = (await readdir(root)).filter((name) => /^memory\d+$/.test(name));
  return Math.round((blocks.length * blockBytes) / 1024 ** 2);
}

export async function readSystemVendor(roots: { readonly sys: string }): Promise<{
  readonly product_name: string;
  readonly serial_number: string;
  readonly manufacturer: string;
  /** As Linux shows it, which is as kubelets tell it: who takes a machine out of a cluster compares the two. */
  readonly baton_system_uuid: string | null;
  readonly firmware: { readonly vendor: string; readonly version: string; readonly build_date: string };
}> {
  const read = async (name: string): Promise<string> =>
    (await readAttribute(join(roots.sys, 'class/dmi/id'), name)) ?? '';
  return {
    product_name: await read('product_name'),
    serial_number: await read('product_serial'),
    manufacturer: await read('sys_vendor'),
    baton_system_uuid: (await read('product_uuid')) || null,
    firmware: {
      vendor: await read('bios_vendor'),
      version: await read('bios_version'),
      build_date: await read('bios_date'),
    },
  };
}

export async function readBoot(roots: { readonly sys: string }, bootMac: string | undefined): Promise<BootInfo> {
  return { current_boot_mode: await readBootMode(roots.sys), pxe_interface: bootMac ?? null };
}
