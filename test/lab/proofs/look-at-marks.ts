import { run } from '#shared/process/run.ts';
import { comparePartitionTables } from '#test/lab/proofs/compare-disk.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { readGpt } from '#test/lab/proofs/read-gpt.ts';

/** Marks that plugins are to have left on a machine's disk. */
export interface ExpectedMarks {
  readonly rawImage: string;
  readonly diskFile: string;
  /** A path in the root file system: one line for each task that left its mark. */
  readonly file: string;
  readonly lines: readonly string[];
}

/**
 * The image's partitions, the config drive and the marks in the order in which they were left, on a disk that no system
 * has booted from yet. Its bytes are no longer the image's: plugins wrote to it.
 * @returns `undefined` as long as the disk has no partitions
 */
export async function lookAtMarks({ rawImage, diskFile, file, lines }: ExpectedMarks): Promise<Proof[] | undefined> {
  if (!hasPartitions(diskFile)) return undefined;
  const table = await comparePartitionTables(rawImage, diskFile);
  const root = table.partitions.find(({ name }) => name === 'root');
  const offset = (root?.firstSector ?? 0) * 512;
  const { stdout } = await run('debugfs', ['-R', `cat ${file}`, `${diskFile}?offset=${offset}`]);
  const seen = stdout.split('\n').filter((line) => line !== '');
  return [
    {
      what: 'partition table as in the image, and the config drive',
      holds: table.faults.length === 0 && table.added.includes('config-2'),
      seen: table.faults.join('; ') || `added: ${table.added.join(', ')}; sgdisk finds no problems`,
    },
    {
      what: "the plugins' marks in its root file system, in their order",
      holds: seen.length === lines.length && seen.every((line, index) => line === lines[index]),
      seen: seen.join(', ') || `nothing in ${file}`,
    },
  ];
}

function hasPartitions(diskFile: string): boolean {
  try {
    return readGpt(diskFile).length > 0;
  } catch {
    return false;
  }
}
