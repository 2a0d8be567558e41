import { z } from 'zod';
import type { BlockDevice, Partition } from '#agent/storage/block-device.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

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
  const all = options.withEmpty ? ['--all'] : [];
  const args = ['--json', '--bytes', '--tree', ...all, '--output', columns, ...devices];
  const { stdout } = await run('lsblk', args);
  return parseLsblk(stdout);
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
    hctl: node.hctl,
    byPath: null,
    rotational: node.rota ?? false,
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
