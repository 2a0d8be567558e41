import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { PlaceOf } from '#conductor/networks/hear-switches.ts';
import { hasCapability, withCapability } from '#conductor/nodes/boot/boot-mode.ts';
import {
  compareCables,
  describeUncompared,
  linkConnection,
  type MovedCable,
  neighbourIn,
} from '#conductor/nodes/inspection/moved-cables.ts';
import { type ParsedLldp, parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isBmcLink, parseCardAddress } from '#shared/mac-address.ts';
import type { InventoryDocument, InventoryInterface } from '#shared/wire/inventory.ts';

/** A network card with a usable name and MAC address. */
export type InspectedInterface = InventoryInterface & {
  readonly name: string;
  /** Lower case. */
  readonly mac_address: string;
  /** The machine has booted from it. */
  readonly pxe_enabled: boolean;
};

/** Changes that an inspection means for the node and its ports. */
export interface InspectionPlan {
  readonly properties: JsonObject;
  readonly newPorts: readonly Pick<PortRow, 'address' | 'pxeEnabled' | 'localLinkConnection' | 'vendor'>[];
  readonly portChanges: readonly {
    readonly port: PortRow;
    readonly change: Partial<Pick<PortRow, 'pxeEnabled' | 'localLinkConnection' | 'vendor'>>;
  }[];
  /** Ports that are plugged in elsewhere than their `local_link_connection` says; what it says stays. */
  readonly movedCables: readonly MovedCable[];
  /** Why ports without a `local_link_connection` get none from what they hear, and of others it is not known whether they have moved. */
  readonly unclear: readonly string[];
  /** Under the names of Ironic's hooks. */
  readonly pluginData: {
    readonly all_interfaces: Readonly<Record<string, InspectedInterface>>;
    readonly valid_interfaces: Readonly<Record<string, InspectedInterface>>;
    /** By interface. */
    readonly parsed_lldp: Readonly<Record<string, ParsedLldp>>;
  };
}

/**
 * Does the work of Ironic's inspection hooks with its defaults: `validate-interfaces`, `ports` (`add_ports = pxe`,
 * `keep_ports = all`), `architecture`, and besides `cpus`, `memory`, `root-device` (size), `boot-mode`, `parse-lldp` and
 * `local-link-connection`. What an operator has said about a switch port stays; a port without it gets what its switch says,
 * and one without `vendor` the maker of its card.
 * @throws AppError `agent_error` when the inventory has no network card that could have booted.
 */
export function planInspection(
  node: Pick<NodeRow, 'properties'>,
  ports: readonly PortRow[],
  report: {
    readonly inventory: InventoryDocument;
    readonly rootDisk?: { readonly size?: unknown } | undefined;
    readonly placeOf: PlaceOf;
    /** The BMC shows it: which card boots, and which disk a system would take, is not known. */
    readonly byBmc?: boolean;
  },
): InspectionPlan {
  const { inventory } = report;
  const byBmc = report.byBmc === true;
  const all = usableInterfaces(inventory);
  const valid = byBmc
    ? all.filter((nic) => nic['baton_disabled'] !== true)
    : bootableInterfaces(all, bootMac(inventory));
  const parsedLldp = Object.fromEntries(
    all.filter(({ lldp }) => lldp && lldp.length > 0).map((nic) => [nic.name, parseLldp(nic.lldp ?? [])]),
  );
  const { placeOf } = report;
  const heardBy = (nic: InspectedInterface | undefined) => neighbourIn(nic && parsedLldp[nic.name]);
  const linkOf = (nic: InspectedInterface | undefined): JsonObject => linkConnection(heardBy(nic), placeOf);
  const placeBy = (nic: InspectedInterface | undefined) => {
    const neighbour = heardBy(nic);
    return neighbour && placeOf(neighbour);
  };
  const nicOf = (port: PortRow) => all.find((each) => each.mac_address === port.address);
  const cables = compareCables(ports, (port) => placeBy(nicOf(port)));
  const known = new Set(ports.map((port) => port.address));
  const added = valid.filter((nic) => !known.has(nic.mac_address));
  // of a node that has been told what it boots from, the others are not: all may, where nobody knows
  const mayBoot = byBmc && !ports.some(({ pxeEnabled }) => pxeEnabled);
  const unlinked = [...ports.filter((port) => isEmpty(port.localLinkConnection)).map(nicOf), ...added];
  return {
    properties: { ...node.properties, ...inspectedProperties(node, report) },
    newPorts: added.map((nic) => ({
      address: nic.mac_address,
      pxeEnabled: byBmc ? mayBoot : nic.pxe_enabled,
      localLinkConnection: linkOf(nic),
      vendor: vendorOf(nic),
    })),
    portChanges: ports.flatMap((port) => {
      const nic = nicOf(port);
      const change = {
        // without a boot interface nobody knows which it is: they stay as they are
        ...(all.some((each) => each.pxe_enabled) && nic && nic.pxe_enabled !== port.pxeEnabled
          ? { pxeEnabled: nic.pxe_enabled }
          : {}),
        ...(isEmpty(port.localLinkConnection) && !isEmpty(linkOf(nic)) ? { localLinkConnection: linkOf(nic) } : {}),
        ...(port.vendor === null && nic && vendorOf(nic) !== null ? { vendor: vendorOf(nic) } : {}),
      };
      return isEmpty(change) ? [] : [{ port, change }];
    }),
    movedCables: cables.moved,
    unclear: [
      ...unlinked.flatMap((nic) => {
        const unclear = placeBy(nic)?.unclear;
        return nic && unclear !== undefined ? `${nic.mac_address} ${unclear}` : [];
      }),
      ...cables.uncompared.map(describeUncompared),
    ],
    pluginData: { all_interfaces: byName(all), valid_interfaces: byName(valid), parsed_lldp: parsedLldp },
  };
}

const longestVendor = 32;

/** Returns the maker of a card as the ramdisk names it, by its PCI id; `null`: it names none, or nothing that a port can hold. */
function vendorOf({ vendor }: InspectedInterface): string | null {
  return vendor && vendor.length <= longestVendor ? vendor : null;
}

/** Returns the MAC address of the NIC that booted; agents give `BOOTIF` as they found it, `01-aa-bb-…` too. */
function bootMac({ boot }: InventoryDocument): string | undefined {
  const given = boot?.pxe_interface ?? '';
  return parseCardAddress(/^[0-9a-f]{2}-([0-9a-f]{2}-){5}/i.test(given) ? given.slice(3) : given);
}

/** One for each MAC address: the members of a bond all show the bond's. */
function usableInterfaces(inventory: InventoryDocument): InspectedInterface[] {
  const boot = bootMac(inventory);
  const usable = inventory.interfaces.flatMap((nic): InspectedInterface[] => {
    const mac = parseCardAddress(nic.mac_address ?? '');
    return nic.name && mac !== undefined && !isBmcLink({ macAddress: mac, driver: nic.driver })
      ? [{ ...nic, name: nic.name, mac_address: mac, pxe_enabled: mac === boot }]
      : [];
  });
  return [...new Map(usable.toReversed().map((nic) => [nic.mac_address, nic])).values()].toReversed();
}

/** The one that booted; where that is not known, those with an address, as Ironic has it. */
function bootableInterfaces(all: readonly InspectedInterface[], boot: string | undefined): InspectedInterface[] {
  const valid = all.filter((nic) => {
    const address = [nic.ipv4_address, nic.ipv6_address].find((each) => each && !isOwnLink.test(each)) ?? '';
    return nic.name !== 'lo' && (boot === undefined ? address !== '' : nic.pxe_enabled);
  });
  if (valid.length > 0) return valid;
  const seen = all.map((nic) => `${nic.name} ${nic.mac_address}`).join(', ') || 'none';
  throw new AppError(
    'agent_error',
    `no network card of the inventory is usable: it needs one ${boot ? `with the boot interface's MAC address ${boot}` : 'with an address'}; it has ${seen}`,
  );
}

/** Loopback and link-local addresses: a card has such a one without any network. */
const isOwnLink = /^(?:127\.|169\.254\.|::1$|fe[89ab])/i;

const gib = 1024 ** 3;
/** Ironic takes no smaller disk for the root device without hints. */
const smallestRoot = 4 * gib;

function inspectedProperties(
  { properties }: Pick<NodeRow, 'properties'>,
  { inventory, rootDisk, byBmc }: Parameters<typeof planInspection>[2],
): JsonObject {
  const { cpu, memory, boot } = inventory;
  // with hints, only who knows them can find the disk; a ramdisk under inspection does not know them
  const rootBytes = properties['root_device'] === undefined ? (rootDisk?.size ?? smallestDisk(inventory)) : undefined;
  const shown = boot?.current_boot_mode;
  // what an operator asks for is not the BMC's to change
  const mode = byBmc && hasCapability(properties['capabilities'], 'boot_mode') ? undefined : shown;
  return {
    ...(cpu?.architecture ? { cpu_arch: cpu.architecture } : {}),
    ...(cpu?.count ? { cpus: cpu.count } : {}),
    ...(memory?.physical_mb ? { memory_mb: memory.physical_mb } : {}),
    ...(typeof rootBytes === 'number' ? { local_gb: Math.floor(rootBytes / gib) } : {}),
    ...(mode === 'uefi' || mode === 'bios'
      ? { capabilities: withCapability(properties['capabilities'], 'boot_mode', mode) }
      : {}),
  };
}

/** Returns the root disk's size where the agent has not said which it is. */
function smallestDisk({ disks }: InventoryDocument): number | undefined {
  return disks
    ?.flatMap((disk) => disk.size ?? [])
    .filter((size) => size >= smallestRoot)
    .sort((a, b) => a - b)[0];
}

function byName(nics: readonly InspectedInterface[]): Record<string, InspectedInterface> {
  return Object.fromEntries(nics.map((nic) => [nic.name, nic]));
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
