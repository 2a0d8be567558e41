import {
  type DiskTable,
  describeTable,
  type FoundTable,
  type TableLabel,
  type TablePartition,
} from '#agent/storage/sfdisk.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Sizes of the partitions for a partition image; in MiB, 0 for none. */
export interface RequestedLayout {
  readonly bootMode: 'bios' | 'uefi';
  readonly label: TableLabel;
  readonly ephemeralMib: number;
  readonly swapMib: number;
  readonly hasConfigDrive: boolean;
  readonly rootMib: number;
}

export type PartitionRole = 'efi' | 'bios-boot' | 'ephemeral' | 'swap' | 'config-drive' | 'root';

export interface PlannedPartition extends TablePartition {
  readonly role: PartitionRole;
}

export interface PlannedLayout extends DiskTable {
  readonly partitions: readonly PlannedPartition[];
}

const mib = 1024 * 1024;
/** Ironic's sizes. */
const efiMib = 550;
const biosBootMib = 1;
const configDriveMib = 64;
/** MBR partitions begin and end below 2 TiB. */
const maxMsdosMib = 2 * 1024 * 1024;

/** GPT's type GUIDs and MBR's types, with the names that Ironic gives the partitions. */
const kinds: Readonly<Record<PartitionRole, { readonly gpt: string; readonly msdos: string; readonly name: string }>> =
  {
    efi: { gpt: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b', msdos: 'ef', name: 'efi-part' },
    'bios-boot': { gpt: '21686148-6449-6e6f-744e-656564454649', msdos: '', name: 'bios-boot' },
    ephemeral: { gpt: '0fc63daf-8483-4772-8e79-3d69d8477de4', msdos: '83', name: 'ephemeral0' },
    swap: { gpt: '0657fd6d-a4ab-43c4-84e5-0933c84b4f4f', msdos: '82', name: 'swap1' },
    'config-drive': { gpt: '0fc63daf-8483-4772-8e79-3d69d8477de4', msdos: '83', name: 'config-2' },
    root: { gpt: '0fc63daf-8483-4772-8e79-3d69d8477de4', msdos: '83', name: 'root' },
  };

/**
 * Lays the partitions out in Ironic's order (agent-protocol.md §6.2): ESP or BIOS boot partition, ephemeral, swap,
 * config drive, and the root last, so that it can grow.
 * @throws AppError `storage_error` when the disk has too few bytes, `invalid_argument` for what an MBR can't do.
 */
export function planPartitionLayout(
  requested: RequestedLayout,
  disk: { readonly name: string; readonly sizeBytes: number },
): PlannedLayout {
  if (requested.bootMode === 'uefi' && requested.label !== 'gpt') {
    throw new AppError('invalid_argument', 'image_info.disk_label is "msdos", but UEFI boots from "gpt" alone');
  }
  const sizes = sizesOf(requested).filter(([, size]) => size > 0);
  // the table itself is in the first MiB, the GPT's second copy in the last
  const neededMib = sizes.reduce((sum, [, size]) => sum + size, 1) + (requested.label === 'gpt' ? 1 : 0);
  if (neededMib * mib > disk.sizeBytes) {
    const listed = sizes.map(([role, size]) => `${role} ${size}`).join(', ');
    throw new AppError(
      'storage_error',
      `disk ${disk.name} is too small: its ${Math.floor(disk.sizeBytes / mib)} MiB do not hold the partitions (MiB: ${listed})`,
      { situation: 'image_too_large', subject: disk.name },
    );
  }
  if (requested.label === 'msdos' && neededMib > maxMsdosMib) {
    throw new AppError('invalid_argument', 'the partitions need more than 2 TiB: image_info.disk_label must be "gpt"');
  }
  let startMib = 1;
  const partitions = sizes.map(([role, sizeMib], index) => {
    const { name, ...types } = kinds[role];
    const partition: PlannedPartition = {
      role,
      number: index + 1,
      startBytes: startMib * mib,
      sizeBytes: sizeMib * mib,
      type: types[requested.label],
      name: requested.label === 'gpt' ? name : null,
    };
    startMib += sizeMib;
    return partition;
  });
  return { label: requested.label, partitions };
}

function sizesOf(requested: RequestedLayout): ReadonlyArray<readonly [PartitionRole, number]> {
  return [
    ['efi', requested.bootMode === 'uefi' ? efiMib : 0],
    ['bios-boot', requested.bootMode === 'bios' && requested.label === 'gpt' ? biosBootMib : 0],
    ['ephemeral', requested.ephemeralMib],
    ['swap', requested.swapMib],
    ['config-drive', requested.hasConfigDrive ? configDriveMib : 0],
    ['root', requested.rootMib],
  ];
}

/**
 * Whether a disk is laid out as planned already, which is the condition for keeping what is on one of its partitions.
 * @throws AppError `storage_error` naming the first difference.
 */
export function checkSameLayout(planned: PlannedLayout, found: FoundTable, diskName: string): void {
  const fault = findDifference(planned, found);
  if (fault === undefined) return;
  throw new AppError(
    'storage_error',
    `image_info.preserve_ephemeral is set, but disk ${diskName} is not laid out as it would be now: ${fault}`,
  );
}

function findDifference(planned: PlannedLayout, found: FoundTable): string | undefined {
  if (found.label === 'none' || found.label === 'unknown') return `it has ${describeTable(found)}`;
  if (found.label !== planned.label) return `its table is ${found.label}, not ${planned.label}`;
  for (const { role, number, startBytes, sizeBytes } of planned.partitions) {
    const there = found.partitions.find((each) => each.number === number);
    if (there?.startBytes === startBytes && there.sizeBytes === sizeBytes) continue;
    const place = there ? `is ${there.sizeBytes} bytes at ${there.startBytes}` : 'is not there';
    return `partition ${number} (${role}) ${place}, not ${sizeBytes} bytes at ${startBytes}`;
  }
  if (found.partitions.length > planned.partitions.length) return 'it has more partitions';
  return undefined;
}
