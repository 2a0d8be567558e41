import { deleteBootEntry, parseBootEntries } from '#agent/boot/efibootmgr.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type PersonPattern, personPattern } from '#shared/person-pattern.ts';
import type { Run } from '#shared/process/run.ts';

/** A loader's file on a partition: what an installed system puts there, and no firmware's own entry has. */
const installedSystem = '\\tHD\\(.*\\.efi';

/**
 * Removes the firmware's boot entries in whose label or device path one of the patterns is found (upper and lower case
 * alike); without patterns those of installed systems.
 * @returns the labels of the removed entries
 * @throws AppError `invalid_argument` naming the pattern, before anything is removed; `command_failed`.
 */
export async function cleanBootEntries(run: Run, patterns?: readonly string[]): Promise<readonly string[]> {
  const tests = (patterns ?? [installedSystem]).map((pattern, index) => compile(pattern, `match_patterns[${index}]`));
  // with its paths or not at all: a pattern that meets no path would remove nothing, and look done
  const { stdout } = await run('efibootmgr', ['--verbose']);
  const matching = parseBootEntries(stdout).entries.filter(({ label, path }) =>
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

function compile(pattern: string, field: string): PersonPattern {
  try {
    return personPattern(pattern, 'i');
  } catch (cause) {
    throw new AppError('invalid_argument', `${field} is not a valid regular expression: ${JSON.stringify(pattern)}`, {
      cause,
    });
  }
}
