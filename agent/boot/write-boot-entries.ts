import {
  createBootEntry,
  deleteBootEntry,
  type NewBootEntry,
  readBootEntries,
  setBootOrder,
} from '#agent/boot/efibootmgr.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Ends the labels of entries for the members of an array, as Ironic's agent has them. */
const memberSuffix = / \(RAID, part\d+\)$/;

/**
 * Writes boot entries, first in the boot order and in the order given; older ones for the same systems go, those too
 * that an array had or has.
 * @throws AppError `storage_error` when the firmware has not kept one of them.
 */
export async function writeBootEntries(run: Run, entries: readonly NewBootEntry[]): Promise<void> {
  const systems = new Set(entries.map(({ label }) => label.replace(memberSuffix, '')));
  const before = await readBootEntries(run);
  const old = before.entries.filter(({ label }) => systems.has(label.replace(memberSuffix, '')));
  for (const entry of old) await deleteBootEntry(run, entry.number);
  for (const entry of entries) await createBootEntry(run, entry);
  const after = await readBootEntries(run);
  // some firmware puts new entries last, whatever efibootmgr asks for
  const ours = entries.flatMap(({ label }) => after.entries.filter((entry) => entry.label === label));
  const numbers = ours.map(({ number }) => number);
  if (numbers.length < entries.length) {
    throw new AppError('storage_error', `the firmware did not keep the boot entries ${[...systems].join(', ')}`);
  }
  const wanted = [...numbers, ...after.order.filter((number) => !numbers.includes(number))];
  if (wanted.join() !== after.order.join()) await setBootOrder(run, wanted);
}
