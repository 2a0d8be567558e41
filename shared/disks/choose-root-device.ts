import { type Disk, isNoDisk } from '#shared/disks/disk.ts';
import { requireOnlyOne } from '#shared/disks/require-only-one.ts';
import { listMismatches, parseHints, type RootDeviceHints } from '#shared/disks/root-device-hints.ts';
import { compareDisks } from '#shared/disks/same-disk.ts';
import { readSkipList, withMembers } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';

const gib = 1024 ** 3;
/** Without hints, smaller disks are taken for SD cards and the like. */
const minBytesWithoutHints = 4 * gib;

interface NodeFields {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly instance_info: Readonly<Record<string, unknown>>;
}

/**
 * Chooses the disk that the operating system goes to (agent-protocol.md §6.5): the first by name that satisfies
 * `instance_info.root_device`, else `properties.root_device`; without hints the smallest of at least 4 GiB, ties by name,
 * and then none that can be pulled out (removable, USB). Refused where an identifier (a path, name, serial number or WWN)
 * fits several disks: any of them may be meant. Never a disk that is mounted, used, read-only, empty or on the skip
 * list (§6.6).
 * @throws AppError `invalid_argument` for bad hints or a bad skip list; `storage_error` when no disk fits, naming each and why.
 */
export function chooseRootDevice<D extends Disk>(devices: readonly D[], node: NodeFields): D {
  const { hints, source } = readHints(node);
  const tests = hints === undefined ? [] : parseHints(hints, source);
  const skipList = readSkipList(node.properties);
  const skipped = new Map(devices.map((device) => [device, whySkipped(device, skipList)]));
  for (const volume of devices.filter((device) => skipped.get(device))) {
    const members = withMembers(volume.name, devices);
    for (const device of devices.filter(({ name }) => members.includes(name))) {
      skipped.set(device, skipped.get(device) ?? [`it is part of ${volume.name}, which is on the skip list`]);
    }
  }
  const isSkippedBelow = ({ name }: D): boolean => {
    const below = withMembers(name, devices).slice(1);
    return devices.some((device) => below.includes(device.name) && skipped.get(device));
  };
  const judged = devices.filter(isDisk).map((device) => ({
    device,
    reasons: [
      ...unusable(device),
      ...(skipped.get(device) ?? pathToSkipped(device, skipped)),
      // a volume on a disk that must be left alone would be written through to it
      ...(isSkippedBelow(device) ? ['it stands on a disk on the skip list'] : []),
      ...(hints === undefined ? unlikely(device) : []),
      ...listMismatches(device, tests),
    ],
  }));
  const fitting = judged.filter(({ reasons }) => reasons.length === 0).map(({ device }) => device);
  const [chosen] = fitting.sort((a, b) => (hints === undefined ? a.sizeBytes - b.sizeBytes : 0) || byName(a, b));
  if (chosen) requireOnlyOne({ chosen, fitting, hints: tests, source });
  if (chosen) return chosen;
  const wanted = hints === undefined ? 'no root device hints are set' : `${source} is ${JSON.stringify(hints)}`;
  const listed = judged.map(({ device, reasons }) => `${device.name} (${reasons.join('; ')})`);
  throw new AppError(
    'storage_error',
    `no disk can be the root device (${wanted}): ${listed.join(', ') || 'the machine has no disk'}`,
    { situation: 'disk_choice' },
  );
}

/** A disk of which the skip list may speak is left alone too; the others can still be chosen. */
function whySkipped(device: Disk, isSkipped: (disk: Disk) => boolean): readonly [string] | undefined {
  try {
    return isSkipped(device) ? ['it is on the skip list'] : undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.message];
  }
}

/**
 * Finds the path of a device that leads to a skipped disk: an entry may name a path only, and the disk must not be written
 * by another path.
 */
function pathToSkipped(device: Disk, skipped: ReadonlyMap<Disk, readonly [string] | undefined>): readonly string[] {
  return [...skipped]
    .filter(([other, why]) => why !== undefined && other !== device && isDisk(other))
    .flatMap(([other]) => {
      const found = compareDisks(device, other);
      if (found === 'other') return [];
      return [`it ${found === 'same' ? 'is' : 'may be'} another path to ${other.name}, which is on the skip list`];
    });
}

function readHints(node: NodeFields): { readonly hints: RootDeviceHints | undefined; readonly source: string } {
  for (const [source, value] of [
    ['instance_info.root_device', node.instance_info['root_device']],
    ['properties.root_device', node.properties['root_device']],
  ] as const) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw new AppError('invalid_argument', `${source} must be an object of root device hints, as {"size": ">= 100"}`);
    }
    if (Object.keys(value).length > 0) return { hints: value as RootDeviceHints, source };
  }
  return { hints: undefined, source: '' };
}

function isDisk(device: Disk): boolean {
  return !isNoDisk(device.name) && (device.type === 'disk' || device.type.startsWith('raid'));
}

function unusable(device: Disk): readonly string[] {
  return [
    ...(device.sizeBytes === 0 ? ['it has no medium'] : []),
    ...(device.readOnly ? ['it is read-only'] : []),
    ...(device.mountpoints.length > 0 ? [`it is mounted on ${device.mountpoints.join(' and ')}`] : []),
    ...(device.holders.length > 0 ? [`it is used by ${device.holders.join(' and ')}`] : []),
  ];
}

/**
 * Lists why a device is never meant without being named: a stick left in the machine, a BMC's virtual media, an SD
 * card.
 */
function unlikely(device: Disk): readonly string[] {
  return [
    ...(device.sizeBytes < minBytesWithoutHints ? ['it is smaller than 4 GiB'] : []),
    ...(device.removable || device.tran === 'usb' ? ['it is removable, and no hint names it'] : []),
  ];
}

function byName(a: Disk, b: Disk): number {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
