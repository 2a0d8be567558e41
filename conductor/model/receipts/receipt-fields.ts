import { z } from 'zod';

/** What a receipt says, version 1. docs/teardown.md explains it for those who read receipts years later. */

export const receiptKind = 'WipeReceipt';
export const receiptVersion = 1;

const time = z.iso.datetime();
const text = z.string().nullable();

const Proof = z.object({
  canaries: z.int().nonnegative(),
  samples: z.int().nonnegative(),
  reads: z.string(),
});

const diskIdentity = {
  device: z.string(),
  model: text,
  serial: text,
  wwn: text,
  size_bytes: z.number().nonnegative().nullable(),
};

const WipedDisk = z.object({
  ...diskIdentity,
  method: z.string(),
  proof: Proof,
  seconds: z.number().nonnegative(),
  /** Means that were tried before, and why they did not do. */
  tried: z.array(z.string()),
});
export type WipedDisk = z.infer<typeof WipedDisk>;

const LeftDisk = z.object({
  ...diskIdentity,
  reason: z.string(),
  /** The entry of `properties.skip_block_devices` that names it. */
  skip_list_entry: z.record(z.string(), z.unknown()).nullable().default(null),
});
export type LeftDisk = z.infer<typeof LeftDisk>;

const SwitchPort = z.object({
  mac: z.string(),
  switch_id: text,
  port_id: text,
  switch_info: text,
  /** `not managed`: Baton has never moved this port. */
  state: z.enum(['isolated', 'on a network', 'not managed']),
  network: text,
  vlan: z.int().nullable(),
  read_back_at: time.nullable(),
});

/** The signed statement. Fields are added within a version; a new version is one that an old reader would misread. */
export const WipeReceipt = z.object({
  kind: z.literal(receiptKind),
  version: z.literal(receiptVersion),
  id: z.uuid(),
  conductor: z.object({ name: z.string() }),
  /** What has wiped: versions as the ramdisk's agent tells them. */
  agent: z
    .object({ version: text, hardware_managers: z.record(z.string(), z.string()) })
    .nullable()
    .default(null),
  /** What a receipt can't tell. */
  scope: z.string().default(''),
  node: z.object({
    uuid: z.guid(),
    name: text,
    vendor: text,
    model: text,
    serial_number: text,
    macs: z.array(z.string()),
    /** When a ramdisk has read vendor, model and serial from the machine; null = never. */
    inventory_at: time.nullable(),
  }),
  preserve_local_storage: z.boolean(),
  disks_wiped: z.array(WipedDisk),
  disks_left_alone: z.array(LeftDisk),
  /** Disks of the machine's inventory that the wipe met neither way. */
  disks_not_seen: z.array(
    z.object({
      ...diskIdentity,
      /** Why the wipe of all disks counts without it; `null`: it was to be kept with the rest, and may hold data. */
      excuse: text.default(null),
    }),
  ),
  switch_ports: z.array(SwitchPort),
  times: z.object({ started: time, wiped: time, signed: time }),
  flows: z.object({ teardown: z.guid().nullable(), wipe: z.guid() }),
  site_action: text,
  requested_by: text,
});
export type WipeReceipt = z.infer<typeof WipeReceipt>;
