import { z } from 'zod';
import type { Disk } from '#shared/disks/disk.ts';
import { type HintTest, parseHints, protects } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';

const source = 'properties.skip_block_devices';
const SkipList = z.array(z.record(z.string(), z.unknown())).nullish();

interface SkipEntry {
  /** `properties.skip_block_devices[0]` */
  readonly source: string;
  readonly hints: Readonly<Record<string, unknown>>;
  readonly tests: readonly HintTest[];
}

/** What one entry of the skip list protects. */
export interface ProtectedBy {
  /** `properties.skip_block_devices[0] {"serial":"A"}` */
  readonly entry: string;
  /** `/dev/sda` */
  readonly devices: readonly string[];
}

/**
 * Whether the operator asked to leave a disk alone: `properties.skip_block_devices`, a list of hint objects
 * (agent-protocol.md §6.6), each met by any of a disk's names. Missing: `volume_name`, by which Ironic's agent leaves RAID
 * volumes alone. A list that can't be understood stops everything: a wipe can't be undone.
 * @returns a test, which throws AppError `storage_error` where a disk could not be read so far that it can be told
 * @throws AppError `invalid_argument` or `not_supported` naming the entry.
 */
export function readSkipList(properties: Readonly<Record<string, unknown>>): (disk: Disk) => boolean {
  const entries = readEntries(properties);
  return (disk) => isNamed(disk, entries);
}

function isNamed(disk: Disk, entries: readonly SkipEntry[]): boolean {
  const found = entries.map((entry) => ({ entry, isMet: protects(disk, entry.tests) }));
  if (found.some(({ isMet }) => isMet)) return true;
  const doubtful = found.filter(({ isMet }) => isMet === undefined).map(({ entry }) => describe(entry));
  if (doubtful.length === 0) return false;
  throw new AppError(
    'storage_error',
    `whether ${doubtful.join(' or ')} names ${disk.name} is not known (${disk.unread ?? 'nothing says whether it turns'}): nothing was touched. Try again; ` +
      'name, size and hctl can always be told',
  );
}

/**
 * What each entry protects among `devices`: pure. A volume goes with its members, so that an entry for a volume protects
 * these too.
 * @throws AppError as `readSkipList` and its test.
 */
export function protectedDevices(
  properties: Readonly<Record<string, unknown>>,
  devices: readonly Disk[],
): readonly ProtectedBy[] {
  return readEntries(properties).map((entry) => {
    const named = new Set(devices.filter((disk) => isNamed(disk, [entry])).map(({ name }) => name));
    const members = devices.filter(({ holders }) => holders.some((holder) => named.has(holder)));
    return { entry: describe(entry), devices: [...new Set([...named, ...members.map(({ name }) => name)])].sort() };
  });
}

/** Entries of which nobody may rely on that they protect something, in words; empty when there are none. */
export function warnOfUnmetEntries(protection: readonly ProtectedBy[]): readonly string[] {
  return protection
    .filter(({ devices }) => devices.length === 0)
    .map(({ entry }) => `${entry} names no disk of this machine: nothing is protected by it`);
}

function readEntries(properties: Readonly<Record<string, unknown>>): readonly SkipEntry[] {
  const parsed = SkipList.safeParse(properties['skip_block_devices']);
  if (!parsed.success) {
    throw new AppError('invalid_argument', `${source} must be a list of objects of root device hints`);
  }
  return (parsed.data ?? []).map((hints, index) => readEntry(hints, `${source}[${index}]`));
}

function readEntry(hints: SkipEntry['hints'], entry: string): SkipEntry {
  if ('volume_name' in hints) {
    throw new AppError(
      'not_supported',
      `${entry}: this agent can't leave out RAID volumes by volume_name; name each member by serial, wwn or by_path`,
    );
  }
  if (Object.keys(hints).length === 0) {
    throw new AppError('invalid_argument', `${entry} is empty, and would name every disk: give it a hint or remove it`);
  }
  return { source: entry, hints, tests: parseHints(hints, entry) };
}

function describe({ source: place, hints }: Pick<SkipEntry, 'source' | 'hints'>): string {
  return `${place} ${JSON.stringify(hints)}`;
}
