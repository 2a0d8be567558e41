import { type EntryTarget, readPathBytes, readWordedPath } from '#agent/boot/device-path.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

export interface BootEntry {
  /** Four hex digits, `0003`. */
  readonly number: string;
  readonly label: string;
  readonly active: boolean;
  /** Device path as efibootmgr words it, empty where it does not: `HD(1,GPT,…)/File(\EFI\debian\shimx64.efi)`. */
  readonly path: string;
  readonly target: EntryTarget;
}

export interface BootEntries {
  /** Numbers, first tried first. */
  readonly order: readonly string[];
  readonly current: string | undefined;
  /** The one for the next boot alone. */
  readonly next: string | undefined;
  readonly entries: readonly BootEntry[];
}

export interface NewBootEntry {
  readonly device: string;
  readonly partition: number;
  readonly label: string;
  /** Path on the EFI system partition: `\EFI\debian\shimx64.efi`. */
  readonly loader: string;
  /** Text that the firmware hands to the loader. */
  readonly loaderData?: string;
}

/**
 * Reads the firmware's boot entries.
 * @throws AppError `command_failed`, also where there are no EFI variables.
 */
export async function readBootEntries(run: Run): Promise<BootEntries> {
  try {
    return parseBootEntries((await run('efibootmgr', ['--verbose'])).stdout);
  } catch (error) {
    if (errorCode(error) !== 'command_failed') throw error;
    // efibootmgr up to 17 stops at a device path that it can't word; without paths it lists them all
    return parseBootEntries((await run('efibootmgr', [])).stdout);
  }
}

/** Parses `efibootmgr` (version 17, and 18, whose lines go on with the device path after a tab), with `--verbose` or without. */
export function parseBootEntries(stdout: string): BootEntries {
  const lines = stdout.split('\n');
  const value = (name: string): string | undefined =>
    lines
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
      .trim();
  return {
    order: (value('BootOrder') ?? '').split(',').filter(Boolean),
    current: value('BootCurrent'),
    next: value('BootNext'),
    entries: lines.flatMap((line, index) => {
      const found = /^Boot([0-9A-Fa-f]{4})(\*| ) ?([^\t]*)(?:\t(.*))?$/.exec(line);
      if (!found) return [];
      const [, number = '', star, label = '', path = ''] = found;
      // the same path in bytes, where it is printed: its words don't show where the path ends and the entry's data begin
      const [, bytes] = /^ +dp: (.*)$/.exec(lines[index + 1] ?? '') ?? [];
      const target = bytes === undefined ? readWordedPath(path.trim()) : readPathBytes(bytes);
      return [{ number, label: label.trim(), active: star === '*', path: path.trim(), target }];
    }),
  };
}

export async function deleteBootEntry(run: Run, number: string): Promise<void> {
  await run('efibootmgr', ['--quiet', '--bootnum', number, '--delete-bootnum']);
}

/** Creates an entry, which comes first in the boot order. */
export async function createBootEntry(run: Run, entry: NewBootEntry): Promise<void> {
  const place = ['--disk', entry.device, '--part', String(entry.partition), '--write-signature'];
  const what = ['--label', entry.label, '--loader', entry.loader];
  const data = entry.loaderData === undefined ? [] : ['--unicode', '--', entry.loaderData];
  await run('efibootmgr', ['--quiet', '--create', ...place, ...what, ...data]);
}

export async function setBootOrder(run: Run, order: readonly string[]): Promise<void> {
  await run('efibootmgr', ['--quiet', '--bootorder', order.join(',')]);
}
