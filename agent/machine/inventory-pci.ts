import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { PciDevice } from '#shared/wire/inventory.ts';

export interface PciInventory {
  /** Without what belongs to the board: bridges, timers and counters. `null` when they can't be listed. */
  readonly baton_pci_devices: readonly PciDevice[] | null;
  /** GPUs and other accelerators among them. */
  readonly baton_accelerators: readonly PciDevice[] | null;
  /** Storage controllers that this ramdisk can't drive, in words: there may be disks behind them. */
  readonly baton_undriven_storage: readonly string[] | null;
}

/** Bridges; interrupt controllers, timers and the like; signal processing and counters; instrumentation. */
const boardClasses = /^(06|08|11|13)/;
/** Mass storage; SD hosts, which have eMMC and cards; Fibre Channel. */
const storageClasses = /^(01|0805|0c04)/;

/** Whether there may be disks behind a PCI device of this class, in hexadecimal. */
export function mayHaveDisks(classId: string): boolean {
  return storageClasses.test(classId);
}

/** 3D controllers, co-processors, processing accelerators. */
const acceleratorClasses = /^(0302|0b40|12)/;
/** Vendors that make GPUs: other displays are BMCs' and hypervisors'. */
const gpuVendors: ReadonlySet<string> = new Set(['10de', '1002', '8086']);

/** The machine's PCI devices by `lspci`. Never rejects: a machine may be without that bus. */
export async function readPci(run: Run, log: Log): Promise<PciInventory> {
  try {
    const { stdout } = await run('lspci', ['-Dvmmnnk'], { timeoutMs: 20_000 });
    const all = parseLspci(stdout);
    const devices = all.filter((device) => !boardClasses.test(device.class_id));
    const undriven = all.filter(({ class_id: id, driver }) => mayHaveDisks(id) && driver === null);
    for (const controller of undriven) log.warn({ controller: nameController(controller) }, withoutDriver);
    return {
      baton_pci_devices: devices,
      baton_accelerators: devices.filter(isAccelerator),
      baton_undriven_storage: undriven.map((controller) => `${nameController(controller)} ${withoutDriver}`),
    };
  } catch (error) {
    log.warn({ reason: errorChain(error) }, 'could not list the PCI devices');
    return { baton_pci_devices: null, baton_accelerators: null, baton_undriven_storage: null };
  }
}

const withoutDriver = 'has no driver in this ramdisk: disks behind it are neither seen nor erased';

function nameController({ address, class: kind, vendor, product, vendor_id, product_id }: PciDevice): string {
  const name = [vendor, product].filter((part) => part !== null).join(' ') || 'unknown';
  return `${kind ?? 'storage controller'} ${address} (${name}, ${vendor_id}:${product_id})`;
}

function isAccelerator({ class_id: id, vendor_id: vendor }: PciDevice): boolean {
  return acceleratorClasses.test(id) || (id.startsWith('03') && gpuVendors.has(vendor));
}

/** Parses `lspci -Dvmmnnk`. */
export function parseLspci(stdout: string): PciDevice[] {
  return stdout
    .split(/\n\s*\n/)
    .map((block) => new Map([...block.matchAll(/^(\w+):\t(.*)$/gm)].map(([, key = '', value = '']) => [key, value])))
    .flatMap((fields) => {
      const address = fields.get('Slot');
      if (address === undefined) return [];
      const [kind, vendor, product] = [
        named(fields.get('Class')),
        named(fields.get('Vendor')),
        named(fields.get('Device')),
      ];
      return {
        address,
        class_id: kind.id,
        class: kind.name,
        vendor_id: vendor.id,
        vendor: vendor.name,
        product_id: product.id,
        product: product.name,
        subsystem_vendor: named(fields.get('SVendor')).name,
        subsystem: named(fields.get('SDevice')).name,
        revision: fields.get('Rev') ?? null,
        driver: fields.get('Driver') ?? null,
        slot: fields.get('PhySlot') ?? null,
      };
    });
}

/** `GA100 [A100 PCIe 40GB] [20f1]`; one that `pci.ids` lacks is called by what it is: `Device [1234]`. */
function named(text = ''): { readonly name: string | null; readonly id: string } {
  const [, name = '', id = ''] = /^(.*?) ?\[([0-9a-f]{4})\]$/.exec(text) ?? [];
  return { name: /^(|Device|Vendor|Class)$/.test(name) ? null : name, id };
}
