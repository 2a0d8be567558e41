import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

export type TableLabel = 'gpt' | 'msdos';

export interface TablePartition {
  readonly number: number;
  readonly startBytes: number;
  readonly sizeBytes: number;
  /** GUID in a GPT, hex digits in an MBR (`fd`); lower case. */
  readonly type: string;
  /** Name in a GPT. */
  readonly name: string | null;
}

export interface DiskTable {
  readonly label: TableLabel;
  readonly partitions: readonly TablePartition[];
}

/** A disk's table as it was found: `none` where sfdisk says that there is none, `unknown` where it is of no kind read here. */
export type FoundTable =
  | DiskTable
  | { readonly label: 'none' }
  | {
      readonly label: 'unknown';
      /** sfdisk's name of its kind: `sun`. */
      readonly is: string;
    };

const Dump = z.object({
  partitiontable: z.object({
    label: z.string(),
    sectorsize: z.number(),
    partitions: z
      .array(
        z.object({
          // the kernel's name ends in the number
          node: z.string().regex(/\d$/),
          start: z.number(),
          size: z.number(),
          type: z.string(),
          name: z.string().optional(),
        }),
      )
      .default([]),
  }),
});

/** sfdisk's names of the tables. */
const labels = { gpt: 'gpt', msdos: 'dos' } as const;

const noTable = 'does not contain a recognized partition table';

/**
 * The partition table of a disk.
 * @throws AppError `command_failed`; `storage_error` also for a disk that can't be read
 */
export async function readDiskTable(run: Run, device: string): Promise<FoundTable> {
  // 1: no table, but also a disk that can't be opened or read: only its words tell them apart
  const { stdout, stderr, exitCode } = await run('sfdisk', ['--json', device], {
    okExitCodes: [0, 1],
    env: { LC_ALL: 'C' },
  });
  if (exitCode === 0) return parseDiskTable(stdout, device);
  if (stderr.includes(noTable)) return { label: 'none' };
  throw new AppError(
    'storage_error',
    `read the partition table of ${device}: ${stderr.trim() || 'sfdisk gave no reason'}`,
  );
}

/** Parses `sfdisk --json`. */
export function parseDiskTable(stdout: string, device: string): FoundTable {
  let table: z.infer<typeof Dump>['partitiontable'];
  try {
    table = Dump.parse(JSON.parse(stdout)).partitiontable;
  } catch (cause) {
    throw new AppError('storage_error', `parse the partition table that sfdisk reports for ${device}`, { cause });
  }
  const label = (['gpt', 'msdos'] as const).find((each) => labels[each] === table.label);
  if (label === undefined) return { label: 'unknown', is: table.label };
  return {
    label,
    partitions: table.partitions.map((partition) => ({
      number: Number(/(\d+)$/.exec(partition.node)?.[1] ?? 0),
      startBytes: partition.start * table.sectorsize,
      sizeBytes: partition.size * table.sectorsize,
      type: partition.type.toLowerCase(),
      name: partition.name ?? null,
    })),
  };
}

/**
 * The partitions of a disk; none where it has no table.
 * @throws AppError `storage_error` for a table of no kind read here: there may be any
 */
export function partitionsIn(table: FoundTable, device: string): readonly TablePartition[] {
  if (table.label !== 'unknown') return table.label === 'none' ? [] : table.partitions;
  throw new AppError('storage_error', `disk ${device} has ${describeTable(table)}: its partitions are not known`);
}

/** `a GPT`, `no partition table` */
export function describeTable(table: FoundTable): string {
  if (table.label === 'unknown') return `a partition table of kind ${table.is}, which is not read here`;
  return { gpt: 'a GPT', msdos: 'an MBR', none: 'no partition table' }[table.label];
}

const mib = 1024 * 1024;

/**
 * Writes a new partition table and wipes the signatures of whatever was in the partitions' places before. Starts and
 * sizes are whole MiB.
 */
export async function writeDiskTable(run: Run, device: string, table: DiskTable): Promise<void> {
  const lines = table.partitions.map(
    ({ number, startBytes, sizeBytes, type, name }) =>
      `${number} : start=${startBytes / mib}MiB, size=${sizeBytes / mib}MiB, type=${type}${name ? `, name="${name}"` : ''}`,
  );
  await run('sfdisk', ['--quiet', '--wipe=always', '--wipe-partitions=always', device], {
    input: [`label: ${labels[table.label]}`, ...lines, ''].join('\n'),
  });
}
