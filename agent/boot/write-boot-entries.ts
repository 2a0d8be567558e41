import {
  type BootEntry,
  createBootEntry,
  deleteBootEntry,
  type NewBootEntry,
  readBootEntries,
  setBootOrder,
} from '#agent/boot/efibootmgr.ts';
import { isDead, type KnownPartitions } from '#agent/boot/known-partitions.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** What is known of the partitions that entries lead to. */
export interface BootPlaces {
  readonly known: KnownPartitions;
  /** Files of the EFI system partitions that were looked into, by PARTUUID; as `toFileKey` has them. */
  readonly files: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether the loader is also where firmware looks that has no entry for it. */
  readonly hasRemovablePath: boolean;
}

/** What has come of the entries. */
export interface WrittenEntries {
  /** Labels of older entries that were removed. */
  readonly removed: readonly string[];
  readonly warnings: readonly string[];
}

/** Ends the labels of entries for the members of an array, as Ironic's agent has them. */
const memberSuffix = / \(RAID, part\d+\)$/;

/**
 * Writes boot entries, first in the boot order and in the order given. Older ones for the same systems on the same
 * partitions go, and those that are certain to start nothing, which is what fills the firmware's memory; the one that
 * `BootNext` names stays. Where the firmware refuses an entry all the same, kernels' crash dumps in its memory go, and it
 * is tried once more.
 * @param dropDumps removes them, as far as that goes
 * @throws AppError `storage_error` when the firmware has not kept an entry, and would find no loader by itself.
 */
export async function writeBootEntries(
  run: Run,
  entries: readonly NewBootEntry[],
  places: BootPlaces,
  dropDumps: () => Promise<void>,
): Promise<WrittenEntries> {
  const before = await readBootEntries(run);
  const old = before.entries.filter((each) => each.number !== before.next && isReplaced(each, entries, places));
  const removed: string[] = [];
  const warnings: string[] = [];
  for (const { number, label } of old) {
    try {
      await deleteBootEntry(run, number);
      removed.push(label);
    } catch (error) {
      if (errorCode(error) !== 'command_failed') throw error;
      warnings.push(`the old boot entry ${number} (${label}) could not be removed: ${errorChain(error)}`);
    }
  }
  const ours: string[] = [];
  for (const entry of entries) {
    try {
      ours.push(await createOrMakeRoom(run, entry, dropDumps));
    } catch (error) {
      if (!['command_failed', 'storage_error'].includes(errorCode(error))) throw error;
      if (!places.hasRemovablePath && ours.length === 0) throw refused(entry, error);
      const instead = ours.length > 0 ? 'the other entries' : 'the removable path, \\EFI\\BOOT';
      warnings.push(
        `the firmware took no boot entry for ${entry.label} (${entry.loader}), it has to boot by ${instead}: ${errorChain(error)}`,
      );
    }
  }
  const { order } = await readBootEntries(run);
  // some firmware puts new entries last, whatever efibootmgr asks for
  const wanted = [...ours, ...order.filter((number) => !ours.includes(number))];
  if (wanted.join() !== order.join()) await setBootOrder(run, wanted);
  return { removed, warnings };
}

/** An entry of another disk's system stays, whatever its label, and so does one that is not understood. */
function isReplaced({ label, target }: BootEntry, entries: readonly NewBootEntry[], places: BootPlaces): boolean {
  if (isDead(target, places.known, places.files)) return true;
  const system = label.replace(memberSuffix, '');
  const own = entries.map(({ device, partition }) => places.known.ids.get(partitionName(device, partition)));
  return (
    target.kind === 'file' &&
    own.includes(target.partition) &&
    entries.some((entry) => entry.label.replace(memberSuffix, '') === system)
  );
}

/** @returns the new entry's number */
async function createOrMakeRoom(run: Run, entry: NewBootEntry, dropDumps: () => Promise<void>): Promise<string> {
  try {
    return await create(run, entry);
  } catch (error) {
    if (errorCode(error) !== 'command_failed') throw error;
    await dropDumps();
    return create(run, entry);
  }
}

async function create(run: Run, entry: NewBootEntry): Promise<string> {
  const before = new Set((await readBootEntries(run)).entries.map(({ number }) => number));
  await createBootEntry(run, entry);
  const { entries } = await readBootEntries(run);
  const made = entries.find(({ number, label }) => label === entry.label && !before.has(number));
  if (made) return made.number;
  throw new AppError('storage_error', `the firmware did not keep the boot entry ${entry.label}`);
}

function refused({ label, loader }: NewBootEntry, cause: unknown): AppError {
  return new AppError(
    'storage_error',
    `the firmware took no boot entry for ${label} (${loader}), and would find no loader by itself: ` +
      "\\EFI\\BOOT has none. Its memory may be full: the step clean_uefi_nvram removes installed systems' entries",
    { cause },
  );
}
