import { access } from 'node:fs/promises';
import type { Run } from '#shared/process/run.ts';

/** How the firmware started this ramdisk; `sysRoot` differs only in tests. */
export async function readBootMode(sysRoot = '/sys'): Promise<'uefi' | 'bios'> {
  try {
    await access(`${sysRoot}/firmware/efi`);
    return 'uefi';
  } catch {
    // the kernel makes this folder when, and only when, EFI runtime services started it
    return 'bios';
  }
}

interface BootEntry {
  /** Four hex digits, `0003`. */
  readonly number: string;
  readonly label: string;
  readonly active: boolean;
}

export interface BootEntries {
  /** Numbers, first tried first. */
  readonly order: readonly string[];
  readonly current: string | undefined;
  readonly entries: readonly BootEntry[];
}

export interface NewBootEntry {
  readonly device: string;
  readonly partition: number;
  readonly label: string;
  /** Path on the EFI system partition: `\EFI\debian\shimx64.efi`. */
  readonly loader: string;
}

/** The firmware's boot entries. @throws AppError `command_failed`, also where there are no EFI variables. */
export async function readBootEntries(run: Run): Promise<BootEntries> {
  return parseBootEntries((await run('efibootmgr', [])).stdout);
}

/** Parses `efibootmgr` (version 17 and 18, whose lines go on with the device path after a tab). */
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
    entries: lines.flatMap((line) => {
      const found = /^Boot([0-9A-Fa-f]{4})(\*| ) ?([^\t]*)/.exec(line);
      if (!found) return [];
      const [, number = '', star, label = ''] = found;
      return [{ number, label: label.trim(), active: star === '*' }];
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
  await run('efibootmgr', ['--quiet', '--create', ...place, ...what]);
}

export async function setBootOrder(run: Run, order: readonly string[]): Promise<void> {
  await run('efibootmgr', ['--quiet', '--bootorder', order.join(',')]);
}
