import { z } from 'zod';
import type { Disk } from '#shared/disks/disk.ts';
import { mayNameArray, protectsArray } from '#shared/disks/resting-arrays.ts';
import { type HintTest, hintsProtect, parseHints } from '#shared/disks/root-device-hints.ts';
import { compareDisks } from '#shared/disks/same-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';

const source = 'properties.skip_block_devices';
const SkipList = z.array(z.record(z.string(), z.unknown())).nullish();

interface SkipEntry {
  /** `properties.skip_block_devices[0]` */
  readonly source: string;
  readonly hints: Readonly<Record<string, unknown>>;
  readonly tests: readonly HintTest[];
}

/** Devices that one entry of the skip list protects. */
export interface ProtectedBy {
  /** `properties.skip_block_devices[0] {"serial":"A"}` */
  readonly entry: string;
  /** `/dev/sda` */
  readonly devices: readonly string[];
}

/**
 * Returns whether the operator asked to leave a disk alone: `properties.skip_block_devices`, a list of hint objects
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
  const found = entries.map((entry) => ({ entry, isMet: isMet(disk, entry) }));
  if (found.some(({ isMet }) => isMet)) return true;
  const doubtful = found.filter(({ isMet }) => isMet === undefined).map(({ entry }) => describe(entry));
  if (doubtful.length === 0) return false;
  throw new AppError(
    'storage_error',
    `whether ${doubtful.join(' or ')} names ${disk.name} is not known (${whyUnknown(disk)}): nothing was touched. Try again; ` +
      'name, size and hctl can always be told',
  );
}

/** Returns whether an entry names a disk, or an array that it belongs to; `undefined` = it may. */
function isMet(disk: Disk, { tests }: SkipEntry): boolean | undefined {
  const found = [hintsProtect(disk, tests), ...(disk.restingArrays ?? []).map((array) => protectsArray(array, tests))];
  if (found.includes(true)) return true;
  return found.includes(undefined) ? undefined : false;
}

function whyUnknown({ unread, unnamed, restingArrays = [] }: Disk): string {
  const [ofArray] = restingArrays.flatMap((array) => array.unread ?? []);
  const resting =
    'it is in a RAID array, which gets a number only as it is assembled, and then has a size: name it by UUID';
  return unread ?? ofArray ?? unnamed ?? (restingArrays.length > 0 ? resting : 'nothing says whether it turns');
}

/**
 * Finds what each entry protects among `devices`, in the order of the list: pure. A volume goes with its members, so
 * that an entry for a volume protects these too, down to the disks.
 * @throws AppError as `readSkipList` and its test.
 */
export function protectedDevices(
  properties: Readonly<Record<string, unknown>>,
  devices: readonly Disk[],
): readonly ProtectedBy[] {
  const entries = readEntries(properties);
  const named = devices.filter((disk) => isNamed(disk, entries));
  return entries.map((entry) => {
    const own = named.filter((disk) => isMet(disk, entry) === true);
    return {
      entry: describe(entry),
      devices: [...new Set(own.flatMap(({ name }) => withMembers(name, devices)))].sort(),
    };
  });
}

/** Lists names of everything that the list protects. Pure. @throws AppError as `protectedDevices` */
export function protectedNames(
  properties: Readonly<Record<string, unknown>>,
  devices: readonly Disk[],
): ReadonlySet<string> {
  return new Set(protectedDevices(properties, devices).flatMap((each) => each.devices));
}

/**
 * Devices by which nothing that the list protects can be written: pure. A volume on a protected disk would be written
 * through to it, and so would another path to the disk.
 * @throws AppError as `protectedDevices`
 */
export function withoutProtected<D extends Disk>(
  properties: Readonly<Record<string, unknown>>,
  devices: readonly D[],
): readonly D[] {
  const names = protectedNames(properties, devices);
  const kept = devices.filter(({ name }) => names.has(name));
  return devices.filter(
    (device) =>
      !withMembers(device.name, devices).some((name) => names.has(name)) &&
      kept.every((each) => compareDisks(each, device) === 'other'),
  );
}

/**
 * Returns whether an entry may name a RAID array, which protects its members: pure.
 * @throws AppError `invalid_argument` or `not_supported` naming the entry.
 */
export function mayNameArrays(properties: Readonly<Record<string, unknown>>): boolean {
  return readEntries(properties).some(({ tests }) => mayNameArray(tests));
}

/** Lists the names of a device and of its members, down to the disks. Pure. */
export function withMembers(device: string, devices: readonly Disk[]): readonly string[] {
  // a set that grows while it is walked: volumes stand on volumes
  const found = new Set([device]);
  for (const name of found) for (const disk of devices) if (disk.holders.includes(name)) found.add(disk.name);
  return [...found];
}

/** Entries of which nobody may rely on that they protect something, in words; empty when there are none. */
export function warnOfUnmetEntries(protection: readonly ProtectedBy[]): readonly string[] {
  return protection.filter(({ devices }) => devices.length === 0).map(({ entry }) => warnOfNothing(entry));
}

/**
 * The same of these devices: pure. An entry that may name a disk which could not be read is no such.
 * @throws AppError `invalid_argument` or `not_supported` naming the entry.
 */
export function findUnmetEntries(
  properties: Readonly<Record<string, unknown>>,
  devices: readonly Disk[],
): readonly string[] {
  return readEntries(properties)
    .filter((entry) => devices.every((device) => isMet(device, entry) === false))
    .map((entry) => warnOfNothing(describe(entry)));
}

function warnOfNothing(entry: string): string {
  return `${entry} names no disk of this machine: nothing is protected by it`;
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
  const tests = parseHints(hints, entry);
  for (const test of tests) requireDiskName(test, entry);
  return { source: entry, hints, tests };
}

/** Names that disks and RAID arrays have in the ramdisk. */
const diskName = /^\/dev\/(?!dm-)([^/]+|md\/[^/]+|disk\/by-path\/[^/]+|disk\/by-id\/(?!dm-|lvm-)[^/]+)$/;
const partitionName = /^\/dev\/((sd|hd|vd|xvd)[a-z]+\d+|(nvme\d+n|mmcblk|md)\d+p\d+)$|-part\d+$/;

/** Refuses a name that no disk can have: it would protect nothing, and an operator relies on it. */
function requireDiskName({ field, wanted }: HintTest, entry: string): void {
  if (field !== 'name' && field !== 'by_path') return;
  const text = wanted.trim().toLowerCase();
  const names = /^(<(?!or>)|s[^=]*[!<>])/.test(text) ? [] : text.split(/<or>|^s==/).map((name) => name.trim());
  const wrong = names.filter((name) => name !== '' && (!diskName.test(name) || partitionName.test(name)));
  if (wrong.length === 0) return;
  throw new AppError(
    'invalid_argument',
    `${entry}.${field} is "${wrong.join('" or "')}", which no disk is called in the ramdisk: volumes of LVM, partitions and file systems ` +
      'are not looked at there, and it would protect nothing. Name the disks below it by serial, wwn or by_path',
  );
}

function describe({ source: place, hints }: Pick<SkipEntry, 'source' | 'hints'>): string {
  return `${place} ${JSON.stringify(hints)}`;
}
