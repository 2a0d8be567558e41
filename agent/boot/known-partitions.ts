import { access, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EntryTarget } from '#agent/boot/device-path.ts';
import { mayHaveDisks } from '#agent/machine/inventory-pci.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import { blkidProperty, readPartitionTable, runBlkid } from '#agent/storage/partition-table.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** Knowledge of this machine's partitions, by which boot entries are judged. */
export interface KnownPartitions {
  /** PARTUUID by device; `/dev/vda1`. Disks with copies of one image have the same. */
  readonly ids: ReadonlyMap<string, string>;
  /** Why there may be partitions that are not among them; empty = there are no others. */
  readonly doubts: readonly string[];
}

/**
 * Reads the partitions of every disk. What can't be read is a doubt and no error: boot entries are kept then.
 * @param sysRoot differs only in tests
 * @throws AppError `command_failed`, `storage_error` where disks can't be listed at all
 */
export async function readKnownPartitions(run: Run, log: Log, sysRoot = '/sys'): Promise<KnownPartitions> {
  const devices = await listBlockDevices(run, undefined, { withEmpty: true });
  const ids = new Map<string, string>();
  const disks = devices.filter(({ type }) => type === 'disk' || type.startsWith('raid'));
  const doubts = [...(await readDoubts(run, disks, sysRoot))];
  for (const device of disks) {
    for (const { name } of device.partitions) {
      const id = await ask(run, name, 'PART_ENTRY_UUID');
      if (id === null) doubts.push(`${name} shows no identifier`);
      else ids.set(name, id.toLowerCase());
    }
  }
  if (doubts.length > 0) log.info({ doubts }, 'not all partitions of this machine are known');
  return { ids, doubts };
}

/** Says why there may be partitions that are not among those of the disks; empty = there are no others. */
export async function readDoubts(run: Run, disks: readonly BlockDevice[], sysRoot: string): Promise<readonly string[]> {
  const doubts = [...(await driverlessControllers(sysRoot))];
  for (const device of disks) doubts.push(...(await doubtsOf(run, device)));
  return doubts;
}

async function doubtsOf(run: Run, { name, sizeBytes, removable, partitions }: BlockDevice): Promise<readonly string[]> {
  // drives without a medium, as BMCs show them
  if (sizeBytes === 0) return removable ? [] : [`${name} shows no capacity`];
  let head: Buffer;
  try {
    await using handle = await open(name, 'r');
    head = (await handle.read(Buffer.alloc(8192), 0, 8192, 0)).buffer;
  } catch (error) {
    return [`${name} can't be read: ${error instanceof Error ? error.message : String(error)}`];
  }
  if (partitions.length > 0) return [];
  const { kind } = readPartitionTable(head);
  if (kind === 'unknown') return [`${name} may have a partition table of a kind that is not read here`];
  if (kind !== 'none') return [`${name} has a partition table without partitions`];
  // a volume that only its controller puts together has its table elsewhere
  const type = (await ask(run, name, 'TYPE')) ?? '';
  return type.endsWith('raid_member') && type !== 'linux_raid_member' ? [`${name} is a ${type}`] : [];
}

async function ask(run: Run, name: string, key: string): Promise<string | null> {
  const stdout = await runBlkid(run, name).catch((error: unknown) => {
    if (errorCode(error) === 'command_failed') return '';
    throw error;
  });
  return blkidProperty(stdout, key);
}

async function driverlessControllers(sysRoot: string): Promise<readonly string[]> {
  const folder = join(sysRoot, 'bus/pci/devices');
  const addresses = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    addresses.map(async (address) => {
      const kind = await readFile(join(folder, address, 'class'), 'utf8').catch(() => '');
      if (!mayHaveDisks(kind.replace(/^0x/, ''))) return [];
      const hasDriver = await access(join(folder, address, 'driver')).then(
        () => true,
        () => false,
      );
      return hasDriver ? [] : [`the storage controller ${address} has no driver`];
    }),
  );
  return found.flat();
}

/**
 * Says whether a boot entry is certain to start nothing: its partition is one that was looked into and has no such file, or
 * is on no disk of a machine whose disks are all known. Pure.
 * @param files by PARTUUID, as `toFileKey` has them
 */
export function isDead(
  target: EntryTarget,
  known: KnownPartitions,
  files: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  if (target.kind === 'unknown') return false;
  const holders = [...known.ids.values()].filter((id) => id === target.partition).length;
  if (holders === 0) return known.doubts.length === 0;
  const there = files.get(target.partition);
  // of several with one identifier, only one was looked into
  return there !== undefined && holders === 1 && !there.has(target.file);
}
