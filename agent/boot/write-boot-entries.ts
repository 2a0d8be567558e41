import { toFileKey } from '#agent/boot/device-path.ts';
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

/** Knowledge of the partitions that entries lead to. */
export interface BootPlaces {
  readonly known: KnownPartitions;
  /** Files of the EFI system partitions that were looked into, by PARTUUID; as `toFileKey` has them. */
  readonly files: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether the loader is also where firmware looks that has no entry for it. */
  readonly hasRemovablePath: boolean;
}

/** Outcome of writing the entries. */
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
 * `BootNext` names stays, and one that starts the same file until the firmware has taken the new one. Where the firmware refuses an entry all the same, kernels' crash dumps in its memory go, and it
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
  // what starts the same is not given away before the firmware has taken the new one
  const spare = old.filter((each) => entries.some((entry) => startsSame(each, entry, places)));
  const done: Changes = { removed: [], warnings: [] };
  await remove(
    run,
    old.filter((each) => !spare.includes(each)),
    done,
  );
  const ours = await createAll(run, { entries, spare, places, dropDumps }, done.warnings);
  await remove(
    run,
    spare.filter(({ number }) => !ours.includes(number)),
    done,
  );
  const { order } = await readBootEntries(run);
  // some firmware puts new entries last, whatever efibootmgr asks for
  const wanted = [...ours, ...order.filter((number) => !ours.includes(number))];
  if (wanted.join() !== order.join()) await setBootOrder(run, wanted);
  return done;
}

interface Changes {
  readonly removed: string[];
  readonly warnings: string[];
}

async function remove(run: Run, old: readonly BootEntry[], { removed, warnings }: Changes): Promise<void> {
  for (const { number, label } of old) {
    try {
      await deleteBootEntry(run, number);
      removed.push(label);
    } catch (error) {
      if (errorCode(error) !== 'command_failed') throw error;
      warnings.push(`the old boot entry ${number} (${label}) could not be removed: ${errorChain(error)}`);
    }
  }
}

interface Wanted {
  readonly entries: readonly NewBootEntry[];
  /** Old ones, each of which starts the same as one of the new ones. */
  readonly spare: readonly BootEntry[];
  readonly places: BootPlaces;
  readonly dropDumps: () => Promise<void>;
}

/** @returns the numbers to boot by, in the order of the entries */
async function createAll(
  run: Run,
  { entries, spare, places, dropDumps }: Wanted,
  warnings: string[],
): Promise<readonly string[]> {
  const ours: string[] = [];
  for (const entry of entries) {
    try {
      ours.push(await createOrMakeRoom(run, entry, dropDumps));
    } catch (error) {
      if (!['command_failed', 'storage_error'].includes(errorCode(error))) throw error;
      const kept = spare.find((each) => !ours.includes(each.number) && startsSame(each, entry, places));
      if (kept) ours.push(kept.number);
      else if (!places.hasRemovablePath && ours.length === 0) throw refused(entry, error);
      const instead = kept
        ? `the old entry ${kept.number}, which starts the same file`
        : ours.length > 0
          ? 'the other entries'
          : 'the removable path, \\EFI\\BOOT';
      warnings.push(
        `the firmware took no boot entry for ${entry.label} (${entry.loader}), it has to boot by ${instead}: ${errorChain(error)}`,
      );
    }
  }
  return ours;
}

function startsSame({ active, target }: BootEntry, entry: NewBootEntry, { known }: BootPlaces): boolean {
  return (
    active &&
    target.kind === 'file' &&
    target.partition === known.ids.get(partitionName(entry.device, entry.partition)) &&
    target.file === toFileKey(entry.loader)
  );
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
      "\\EFI\\BOOT has none. Its memory may be full: the step clean_uefi_nvram removes installed systems' entries, and some " +
      'firmware gives their space back at its next start only',
    { cause },
  );
}
