import { z } from 'zod';
import { addIdentity, type DeviceRoots, systemRoots } from '#agent/storage/device-identity.ts';
import type { Disk } from '#shared/disks/disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A disk, RAID volume or other whole block device of this machine, with what only who writes to it needs. */
export interface BlockDevice extends Disk {
  readonly logicalSectorBytes: number;
  readonly physicalSectorBytes: number;
  readonly partitions: readonly Partition[];
  /** NQN of the NVMe subsystem that it is a namespace of, where that was asked for (`nvme-namespaces.ts`). */
  readonly nvmeSubsystem?: string | undefined;
  /** An NVMe namespace that this machine has no device for. */
  readonly isDetached?: boolean | undefined;
}

export interface Partition {
  /** `/dev/nvme0n1p1` */
  readonly name: string;
  readonly number: number;
  readonly sizeBytes: number;
}

/** A partition with what stands in the partition table and at its beginning. */
export interface ProbedPartition extends Partition {
  /** File system type: `vfat`, `iso9660`… */
  readonly fsType: string | null;
  readonly fsLabel: string | null;
  /** UUID of the file system, or FAT's `1234-ABCD`. */
  readonly fsUuid: string | null;
  /** GPT name. */
  readonly partLabel: string | null;
  /** GPT type GUID or MBR type (`0xef`), lower case. */
  readonly partType: string | null;
}

const columns = 'NAME,PATH,TYPE,SIZE,MODEL,VENDOR,SERIAL,WWN,HCTL,ROTA,TRAN,RO,RM,LOG-SEC,PHY-SEC,MOUNTPOINTS';

const text = z
  .string()
  .nullish()
  .transform((value) => value?.trim() || null);

/** One node of lsblk's tree, in the columns that we ask for (util-linux 2.37 and later). */
const LsblkNode = z.looseObject({
  name: z.string(),
  path: z.string(),
  type: z.string(),
  size: z.number().nullish(),
  model: text,
  vendor: text,
  serial: text,
  wwn: text,
  hctl: text,
  rota: z.boolean().nullish(),
  tran: text,
  ro: z.boolean().nullish(),
  rm: z.boolean().nullish(),
  'log-sec': z.number().nullish(),
  'phy-sec': z.number().nullish(),
  mountpoints: z.array(z.string().nullable()).nullish(),
  get children() {
    return z.array(LsblkNode).optional();
  },
});
type LsblkNode = z.infer<typeof LsblkNode>;

const LsblkOutput = z.object({ blockdevices: z.array(LsblkNode) });

/**
 * All block devices of the machine by `lsblk`, or those given by name. Unasked it names none that shows no capacity.
 * @throws AppError `command_failed` when lsblk fails, `storage_error` when its output can't be read.
 */
export async function runLsblk(
  run: Run,
  devices: readonly string[] = [],
  options: { readonly withEmpty?: boolean } = {},
): Promise<readonly BlockDevice[]> {
  const { stdout } = await run('lsblk', lsblkArguments(options.withEmpty ? ['--all', ...devices] : devices));
  return parseLsblk(stdout);
}

/** Arguments of lsblk whose output `parseLsblk` reads. */
export function lsblkArguments(more: readonly string[]): readonly string[] {
  return ['--json', '--bytes', '--tree', '--output', columns, ...more];
}

/** Parses `lsblk --json --bytes --tree` with our columns; what only udev knows stays `null`. */
export function parseLsblk(stdout: string): readonly BlockDevice[] {
  return readOutput(stdout).blockdevices.map((node) => toBlockDevice(node));
}

function readOutput(stdout: string): z.infer<typeof LsblkOutput> {
  if (stdout.trim() === '') return { blockdevices: [] };
  try {
    return LsblkOutput.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new AppError('storage_error', "read lsblk's list of block devices", { cause });
  }
}

function toBlockDevice(node: LsblkNode): BlockDevice {
  const partitions = (node.children ?? []).filter((child) => child.type === 'part');
  const above = descendants(node);
  return {
    name: node.path,
    type: node.type,
    sizeBytes: node.size ?? 0,
    model: node.model,
    vendor: node.vendor,
    serial: node.serial,
    wwn: node.wwn,
    wwnWithExtension: null,
    wwnVendorExtension: null,
    serials: [],
    wwns: [],
    links: [],
    hctl: node.hctl,
    byPath: null,
    rotational: node.rota ?? null,
    tran: node.tran,
    readOnly: node.ro ?? false,
    removable: node.rm ?? false,
    logicalSectorBytes: node['log-sec'] ?? 512,
    physicalSectorBytes: node['phy-sec'] ?? 512,
    mountpoints: [node, ...above].flatMap((each) => (each.mountpoints ?? []).filter((path) => path !== null)),
    holders: [...new Set(above.filter((each) => each.type !== 'part').map((each) => each.path))],
    // lsblk names them in the order of a folder
    partitions: partitions.map((child) => toPartition(child)).sort((a, b) => a.number - b.number),
  };
}

function descendants(node: LsblkNode): readonly LsblkNode[] {
  return (node.children ?? []).flatMap((child) => [child, ...descendants(child)]);
}

function toPartition(node: LsblkNode): Partition {
  return {
    name: node.path,
    // PARTN came with util-linux 2.39; the kernel's own names end in the number
    number: Number(/(\d+)$/.exec(node.name)?.[1] ?? 0),
    sizeBytes: node.size ?? 0,
  };
}

/**
 * All whole block devices of this machine, by name (optical drives included: the caller decides what counts).
 * Identity comes from lsblk, udev's database where udev runs, and /sys.
 * @param options.withEmpty also disks that show no capacity: broken and locked ones, empty card readers
 * @throws AppError `command_failed` when lsblk fails, `storage_error` when its output can't be read.
 */
export async function listBlockDevices(
  run: Run,
  roots: DeviceRoots = systemRoots,
  options: { readonly withEmpty?: boolean } = {},
): Promise<readonly BlockDevice[]> {
  const listed = await runLsblk(run, [], options);
  // free loop devices and RAM disks are not disks
  const devices = listed.filter(({ type, sizeBytes }) => sizeBytes > 0 || type === 'disk');
  // a RAID volume stands under each of its members in the tree: name it once, as a device of its own
  const holders = [...new Set(devices.flatMap((device) => device.holders))];
  const above = holders.length === 0 ? [] : await runLsblk(run, holders);
  const byName = new Map([...devices, ...above].map((device) => [device.name, device]));
  const named = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(named.map((device) => addIdentity(run, device, roots)));
}
