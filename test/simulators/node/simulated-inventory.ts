import type { openInventory } from '#agent/agent-inventory.ts';
import { type DiskInfo, type Inventory, toDiskInfo } from '#agent/hardware/inventory.ts';
import { readRecordedDisks } from '#agent/storage/testing/recorded-disks.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { HeardLldp, LldpTlv, MemoryModule, PciDevice } from '#shared/wire/inventory.ts';
import { recordedTlvs } from '#test/recorded/recorded-lldp.ts';
import type { NodeFaults } from '#test/simulators/node/simulated-hardware.ts';

/** A simulated machine's switch port, as its switch describes it. */
export interface DescribedSwitchPort {
  /** MAC address. */
  readonly switchId: string;
  readonly portId: string;
  readonly switchName: string;
}

/** The same, or as a switch has described one that was recorded. */
export type SimulatedSwitchPort = DescribedSwitchPort | { readonly recorded: Readonly<Record<string, string>> };

/** A disk beside the one that every simulated machine has; empty, and else like that one. */
export type SimulatedDisk = Partial<DiskInfo> & Pick<DiskInfo, 'name' | 'serial'>;

/** The disks that udev and lsblk were recorded with, as the agent reads them. */
export async function recordedDisks(outputs: Readonly<Record<string, string>>): Promise<readonly SimulatedDisk[]> {
  const devices = await readRecordedDisks(outputs);
  return devices.map((device) => toDiskInfo(device, [], { firmware: null, health: null }));
}

const gib = 1024 ** 3;

/** Its disks: one with an old system on it, and what else a test wants. */
export function simulatedDisks(mac: string, moreDisks: readonly SimulatedDisk[] = []): readonly DiskInfo[] {
  const disk: DiskInfo = {
    name: '/dev/sda',
    model: 'SIMULATED',
    size: 100 * gib,
    rotational: false,
    wwn: null,
    serial: `disk-of-${mac}`,
    vendor: null,
    wwn_with_extension: null,
    wwn_vendor_extension: null,
    baton_serials: [],
    baton_wwns: [],
    baton_links: [],
    baton_unread: null,
    hctl: null,
    by_path: null,
    logical_sectors: 512,
    physical_sectors: 512,
    tran: null,
    baton_removable: false,
    baton_contents: [
      { name: '/dev/sda', size: 100 * gib, type: 'gpt', label: null },
      { name: '/dev/sda1', size: 99 * gib, type: 'ext4', label: 'old-system' },
    ],
    baton_resting_arrays: [],
    baton_firmware: '1.0',
    baton_health: {
      passed: true,
      temperature_c: 31,
      power_on_hours: 8760,
      percent_used: 4,
      bad_sectors: 0,
      media_errors: null,
    },
  };
  return [disk, ...moreDisks.map((more) => ({ ...disk, baton_contents: [], ...more }))];
}

/** Composes the inventory of a simulated machine: one NIC, one disk with an old system on it, eight processors. */
export function simulatedInventory(
  mac: string,
  switchPort: SimulatedSwitchPort | undefined,
  faults: Pick<NodeFaults, 'noInventory' | 'failingDisks'>,
  moreDisks: readonly SimulatedDisk[] = [],
): typeof openInventory {
  const inventory: Inventory = {
    interfaces: [
      {
        name: 'eth0',
        mac_address: mac,
        ipv4_address: '192.0.2.5',
        ipv6_address: null,
        has_carrier: true,
        lldp: switchPort ? toTlvs(switchPort) : null,
        vendor: '0x1af4',
        product: '0x1000',
        client_id: null,
        biosdevname: null,
        speed_mbps: 10_000,
        pci_address: '0000:00:05.0',
        driver: 'virtio_net',
        baton_firmware: null,
      },
    ],
    cpu: {
      model_name: 'Simulated',
      frequency: '',
      count: 8,
      architecture: 'x86_64',
      flags: [],
      socket_count: 1,
      baton_microcode: '0x1',
    },
    disks: simulatedDisks(mac, moreDisks),
    memory: {
      total: 16 * gib,
      physical_mb: 16_384,
      baton_slots: 4,
      baton_modules: ['A1', 'B1'].map((slot) => memoryModule(slot, mac)),
    },
    bmc_address: null,
    bmc_v6address: null,
    bmc_mac: null,
    baton_bmc_firmware: '1.0',
    baton_pci_devices: [networkCard],
    baton_undriven_storage: [],
    baton_accelerators: [],
    system_vendor: {
      product_name: 'Simulated node',
      serial_number: mac,
      baton_system_uuid: null,
      manufacturer: 'Baton',
      firmware: { vendor: 'Baton', version: '1.0', build_date: '01/01/2026' },
      baton_board: { manufacturer: 'Baton', model: 'Board', version: null, serial_number: mac },
      baton_chassis: { manufacturer: 'Baton', type: 'Blade', version: null, serial_number: null, asset_tag: null },
    },
    boot: { current_boot_mode: 'bios', pxe_interface: mac },
    hostname: 'simulated',
  };
  const withFailing = (disk: DiskInfo): DiskInfo => ({
    ...disk,
    baton_health: disk.baton_health && { ...disk.baton_health, passed: false, bad_sectors: 4096 },
  });
  const read = (): Promise<Inventory> => {
    const { noInventory: reason, failingDisks } = faults;
    if (reason !== undefined) return Promise.reject(new AppError('storage_error', reason));
    return Promise.resolve(failingDisks ? { ...inventory, disks: inventory.disks.map(withFailing) } : inventory);
  };
  const [{ mac_address, lldp }] = inventory.interfaces as [Inventory['interfaces'][number]];
  const heard: HeardLldp = { interfaces: lldp ? [{ mac_address, lldp: [...lldp] }] : [] };
  return () => ({ read, heardLldp: () => Promise.resolve(heard), close: () => Promise.resolve() });
}

function memoryModule(slot: string, mac: string): MemoryModule {
  return {
    slot,
    size_mb: 8192,
    type: 'DDR5',
    form_factor: 'DIMM',
    speed_mts: 4800,
    ecc: true,
    manufacturer: 'Baton',
    part_number: 'M8-4800',
    serial_number: `${slot}-of-${mac}`,
  };
}

const networkCard: PciDevice = {
  address: '0000:00:05.0',
  class_id: '0200',
  class: 'Ethernet controller',
  vendor_id: '1af4',
  vendor: 'Red Hat, Inc.',
  product_id: '1000',
  product: 'Virtio network device',
  subsystem_vendor: null,
  subsystem: null,
  revision: null,
  driver: 'virtio-pci',
  slot: null,
};

function toTlvs(port: SimulatedSwitchPort): readonly LldpTlv[] {
  if ('recorded' in port) return recordedTlvs(port.recorded);
  const { switchId, portId, switchName } = port;
  const hex = (text: string): string => Buffer.from(text).toString('hex');
  return [
    [1, `04${switchId.replaceAll(':', '')}`],
    [2, `05${hex(portId)}`],
    [3, '0078'],
    [5, hex(switchName)],
  ];
}
