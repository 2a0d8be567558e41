import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readAttribute } from '#agent/hardware/network-interfaces.ts';

/** A device in the form of ironic-python-agent's `pci-devices` collector: hexadecimal without `0x`. */
export interface PciDevice {
  readonly vendor_id: string | null;
  readonly product_id: string | null;
  readonly class: string | null;
  readonly revision: string | null;
  /** `0000:00:05.0` */
  readonly bus: string;
  readonly numa_node_id: string | null;
}

/** The machine's PCI devices by address; none on a machine without that bus. */
export async function readPciDevices(sysRoot = '/sys'): Promise<readonly PciDevice[]> {
  const root = join(sysRoot, 'bus/pci/devices');
  const names = await readdir(root).catch((error: unknown): string[] => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return Promise.all(
    names.sort().map(async (bus) => {
      const read = async (name: string): Promise<string | null> =>
        (await readAttribute(join(root, bus), name))?.replace(/^0x/, '') ?? null;
      return {
        vendor_id: await read('vendor'),
        product_id: await read('device'),
        class: await read('class'),
        revision: await read('revision'),
        bus,
        numa_node_id: await read('numa_node'),
      };
    }),
  );
}
