import { z } from 'zod';

/** The inventory and the inspection report (agent-protocol.md §2.5). Both sides parse with these. */

/** An LLDP TLV as ironic-python-agent sends it: type, and the value in hex, 511 bytes at most. */
export const LldpTlv = z.tuple([
  z.number().int(),
  z
    .string()
    .max(2 * 511)
    .regex(/^([0-9a-f]{2})*$/i),
]);
export type LldpTlv = z.infer<typeof LldpTlv>;

/** More wrong items of a list are not looked for. */
const mostWrong = 5;

/** Makes the schema of a list whose reading ends at the first wrong items: a stranger's report may have sixty thousand. */
function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).transform((items, context) => {
    const read: z.output<Item>[] = [];
    for (const [index, each] of items.entries()) {
      const parsed = item.safeParse(each);
      if (parsed.success) read.push(parsed.data);
      else
        for (const { path, ...issue } of parsed.error.issues)
          context.issues.push({ ...issue, input: each, path: [index, ...path] } as z.core.$ZodRawIssue);
      if (context.issues.length >= mostWrong) return z.NEVER;
    }
    return read;
  });
}

const text = z.string().nullish().catch(null);
const flag = z.boolean().nullish().catch(null);
const amount = z.number().nonnegative().nullish().catch(null);

/** One thing that stands on a disk: a partition table, a file system, a member of an array or what is made of it. */
export const DiskContent = z.object({
  /** `/dev/vda1`; the disk's own name for what covers the whole of it. */
  name: z.string(),
  size: z.number().nonnegative().nullable(),
  /** `gpt`, `ext4`, `linux_raid_member`, `raid1` …; `null`: nothing that is known. */
  type: z.string().nullable(),
  /** The file system's label, else the partition's name. */
  label: z.string().nullable(),
});
export type DiskContent = z.infer<typeof DiskContent>;

/** A module of memory, as the firmware reports it (SMBIOS). */
export interface MemoryModule {
  /** `DIMM_A1`: as it is written on the board. */
  readonly slot: string | null;
  /** `null`: there is one, and the firmware doesn't know its size. */
  readonly size_mb: number | null;
  /** `DDR5` */
  readonly type: string | null;
  readonly form_factor: string | null;
  /** MT/s, as it runs. */
  readonly speed_mts: number | null;
  readonly ecc: boolean | null;
  readonly manufacturer: string | null;
  readonly part_number: string | null;
  readonly serial_number: string | null;
}

/** Hexadecimal ids without `0x`; names as the ramdisk's `pci.ids` has them. */
export interface PciDevice {
  /** `0000:00:05.0` */
  readonly address: string;
  readonly class_id: string;
  readonly class: string | null;
  readonly vendor_id: string;
  readonly vendor: string | null;
  readonly product_id: string;
  readonly product: string | null;
  /** Maker of the card, and which card it is. */
  readonly subsystem_vendor: string | null;
  readonly subsystem: string | null;
  readonly revision: string | null;
  readonly driver: string | null;
  readonly slot: string | null;
}

/** Health as the disk itself reports it (S.M.A.R.T.); `null`: it doesn't. */
export interface DiskHealth {
  readonly passed: boolean | null;
  readonly temperature_c: number | null;
  readonly power_on_hours: number | null;
  /** Share that is used of the writes that it is made for. */
  readonly percent_used: number | null;
  /** Sectors that were replaced, or can't be read. */
  readonly bad_sectors: number | null;
  readonly media_errors: number | null;
}

const InventoryInterface = z.looseObject({
  name: text,
  mac_address: text,
  ipv4_address: text,
  ipv6_address: text,
  driver: text,
  /** PCI id of the card's maker: `0x8086`. */
  vendor: text,
  // what a switch has said wrongly must not cost the rest of an inventory
  lldp: z.array(LldpTlv).nullish().catch(null),
});
export type InventoryInterface = z.infer<typeof InventoryInterface>;

/** LLDP that switches have sent to an agent that listens while it deploys: to those cards that have heard one. */
export const HeardLldp = z.object({ interfaces: z.array(InventoryInterface.pick({ mac_address: true, lldp: true })) });
export type HeardLldp = z.infer<typeof HeardLldp>;

export const InventoryDisk = z.looseObject({
  name: z.string(),
  size: amount,
  serial: text,
  model: text,
  vendor: text,
  wwn: text,
  wwn_with_extension: text,
  wwn_vendor_extension: text,
  hctl: text,
  by_path: text,
  tran: text,
  rotational: flag,
  /** Baton's own: all that the disk is known by, of which the fields above show one each. */
  baton_serials: z.array(z.string()).nullish().catch(null),
  baton_wwns: z.array(z.string()).nullish().catch(null),
  /** Below `/dev/disk/by-path`, `/dev/disk/by-id` and, of arrays, `/dev/md`. */
  baton_links: z.array(z.string()).nullish().catch(null),
  /** Baton's own: why these could not be read in full. */
  baton_unread: text,
  /** Baton's own: why there may be more of these. */
  baton_unnamed: text,
  /** Baton's own; what can be pulled out is neither erased nor chosen as root disk unnamed. */
  baton_removable: flag,
  /** Baton's own: `DiskHealth`; `null` or absent: the disk says nothing of it. */
  baton_health: z.looseObject({ passed: flag, bad_sectors: amount }).nullish().catch(null),
  /** Baton's own; `null` or absent: not looked at, or it can't be read. */
  baton_contents: z.array(DiskContent).nullish().catch(null),
  /** Baton's own: RAID arrays that are not assembled; `null` or absent: not known. */
  baton_resting_arrays: z
    .array(z.object({ uuids: z.array(z.string()), names: z.array(z.string()), unread: z.string().optional() }))
    .nullish()
    .catch(null),
});
export type InventoryDisk = z.infer<typeof InventoryDisk>;

/** Parts of an inventory that the conductor reads; it keeps the whole. */
export const InventoryDocument = z.looseObject({
  interfaces: listOf(InventoryInterface),
  /** Absent or `null`: nobody has looked; `[]`: there is none. */
  disks: listOf(InventoryDisk).nullish(),
  cpu: z.looseObject({ count: amount, architecture: text }).nullish(),
  memory: z.looseObject({ physical_mb: amount }).nullish(),
  boot: z.looseObject({ current_boot_mode: text, pxe_interface: text }).nullish(),
  /** The UUID is Baton's own, as Linux shows SMBIOS' and as kubelets report it. */
  system_vendor: z.looseObject({ baton_system_uuid: text }).nullish().catch(null),
  /** Baton's own: storage controllers without a driver, in words; `null` or absent: not known. */
  baton_undriven_storage: z.array(z.string()).nullish().catch(null),
  bmc_address: text,
  bmc_v6address: text,
});
export type InventoryDocument = z.infer<typeof InventoryDocument>;

/** `POST /v1/continue_inspection`; what else collectors add becomes plugin data. */
export const InspectionReport = z.looseObject({
  inventory: InventoryDocument,
  /** Base64 of a gzipped tar. */
  logs: text,
  /** The error in the ramdisk: the inspection fails with it. */
  error: text,
});
export type InspectionReport = z.infer<typeof InspectionReport>;
