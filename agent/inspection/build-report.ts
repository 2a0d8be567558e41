import { type LogSources, packSystemLogs } from '#agent/commands/collect-system-logs.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import type { DiskInfo, Inventory } from '#agent/hardware/inventory.ts';
import { readPciDevices } from '#agent/inspection/pci-devices.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

export interface ReportServices extends LogSources {
  readonly log: Log;
  readonly inventory: () => Promise<Inventory>;
  readonly hardwareManagers: readonly HardwareManager[];
}

type Report = Readonly<Record<string, unknown>>;
type Collector = (services: ReportServices, names: readonly string[]) => Promise<Report>;

/** By the names of `ipa-inspection-collectors`. */
const collectors: Readonly<Record<string, Collector>> = {
  default: async (services, names) => {
    const inventory = await services.inventory();
    return {
      inventory,
      root_disk: await rootDisk(services, inventory),
      boot_interface: inventory.boot.pxe_interface,
      configuration: {
        collectors: names,
        managers: services.hardwareManagers.map(({ name, version }) => ({ name, version })),
      },
    };
  },
  'pci-devices': async () => ({ pci_devices: await readPciDevices() }),
  logs: async (services) => {
    try {
      return { logs: await packSystemLogs(services) };
    } catch (error) {
      // a machine is well that can only not show its logs
      services.log.warn({ err: error }, 'no logs go with the inspection report');
      return {};
    }
  },
};

/**
 * What the machine is, in the form of ironic-python-agent's inspection (agent-protocol.md §2.5). A collector that fails
 * or is unknown costs its own part; `error` tells of it, and the conductor lets the inspection fail.
 */
export async function buildReport(names: readonly string[], services: ReportServices): Promise<Report> {
  const errors: string[] = [];
  let report: Report = {};
  for (const name of names) {
    const collect = Object.hasOwn(collectors, name) ? collectors[name] : undefined;
    if (!collect) {
      services.log.warn({ collector: name, known: Object.keys(collectors) }, 'no such inspection collector: left out');
      continue;
    }
    try {
      report = { ...report, ...(await collect(services, names)) };
    } catch (error) {
      services.log.error({ err: error, collector: name }, 'inspection collector failed');
      errors.push(`collector ${name} failed: ${errorChain(error)}`);
    }
  }
  return { ...report, error: errors.length > 0 ? errors.join('; ') : null };
}

/** Without hints: whose node this is, and what they are, nobody has told yet. */
async function rootDisk(services: ReportServices, inventory: Inventory): Promise<DiskInfo | null> {
  try {
    const device = chooseRootDevice(await listBlockDevices(services.run), { properties: {}, instance_info: {} });
    return inventory.disks.find(({ name }) => name === device.name) ?? null;
  } catch (error) {
    services.log.info({ err: error }, 'the root disk is not known');
    return null;
  }
}
