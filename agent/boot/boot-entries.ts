import {
  createBootEntry,
  deleteBootEntry,
  type NewBootEntry,
  readBootEntries,
  setBootOrder,
} from '#agent/boot/efibootmgr.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A loader's file on a partition: what an installed system puts there, and no firmware's own entry has. */
const installedSystem = '\\tHD\\(.*\\.efi';

interface DescribedBootEntry {
  /** Four hex digits, `0003`. */
  readonly number: string;
  readonly label: string;
  /** Device path as efibootmgr words it: `HD(1,GPT,…)/File(\EFI\debian\shimx64.efi)`. */
  readonly path: string;
}

/** Parses `efibootmgr --verbose` (versions 17 and 18). */
export function parseDescribedEntries(stdout: string): readonly DescribedBootEntry[] {
  return stdout.split('\n').flatMap((line) => {
    const found = /^Boot([0-9A-Fa-f]{4})(?:\*| ) ?([^\t]*)(?:\t(.*))?$/.exec(line);
    if (!found) return [];
    const [, number = '', label = '', path = ''] = found;
    return [{ number, label: label.trim(), path: path.trim() }];
  });
}

/**
 * Removes the firmware's boot entries in whose label or device path one of the patterns is found (upper and lower case
 * alike); without patterns those of installed systems.
 * @returns the labels of the removed entries
 * @throws AppError `invalid_argument` naming the pattern, before anything is removed; `command_failed`.
 */
export async function cleanBootEntries(run: Run, patterns?: readonly string[]): Promise<readonly string[]> {
  const tests = (patterns ?? [installedSystem]).map((pattern, index) => compile(pattern, `match_patterns[${index}]`));
  const { stdout } = await run('efibootmgr', ['--verbose']);
  const matching = parseDescribedEntries(stdout).filter(({ label, path }) =>
    tests.some((each) => each.test(label) || each.test(path) || each.test(`${label}\t${path}`)),
  );
  for (const { number, label } of matching) {
    try {
      await deleteBootEntry(run, number);
    } catch (cause) {
      throw new AppError('command_failed', `remove boot entry ${number} (${label})`, { cause });
    }
  }
  return matching.map(({ label }) => label);
}

function compile(pattern: string, field: string): RegExp {
  try {
    return new RegExp(pattern, 'i');
  } catch (cause) {
    throw new AppError('invalid_argument', `${field} is not a valid regular expression: ${JSON.stringify(pattern)}`, {
      cause,
    });
  }
}

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
