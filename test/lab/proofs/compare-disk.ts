import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { run } from '#shared/process/run.ts';
import { type GptPartition, readGpt } from '#test/lab/proofs/read-gpt.ts';

export interface ByteComparison {
  readonly comparedBytes: number;
  readonly imageBytes: number;
  readonly firstDifference: number | undefined;
}

const sector = 512;
const chunkBytes = 4 * 2 ** 20;

/**
 * Compares every byte of an image with the disk that it was written to, except for what moving the image's partition
 * table to a larger disk must change: the protective MBR's signature and entries (bytes 440 to 511), the primary GPT
 * (sectors 1 to 33) and the place of the image's backup GPT (its last 33 sectors).
 */
export function compareImageBytes(imageFile: string, diskFile: string): ByteComparison {
  const image = openSync(imageFile, 'r');
  const disk = openSync(diskFile, 'r');
  try {
    const imageBytes = fstatSync(image).size;
    const regions = [
      { from: 0, to: 440 },
      { from: 34 * sector, to: imageBytes - 33 * sector },
    ];
    let comparedBytes = 0;
    for (const { from, to } of regions) {
      const firstDifference = compareRegion(image, disk, from, to);
      if (firstDifference !== undefined) return { comparedBytes, imageBytes, firstDifference };
      comparedBytes += to - from;
    }
    return { comparedBytes, imageBytes, firstDifference: undefined };
  } finally {
    closeSync(image);
    closeSync(disk);
  }
}

function compareRegion(image: number, disk: number, from: number, to: number): number | undefined {
  const left = Buffer.alloc(chunkBytes);
  const right = Buffer.alloc(chunkBytes);
  for (let at = from; at < to; at += chunkBytes) {
    const length = Math.min(chunkBytes, to - at);
    readSync(image, left, 0, length, at);
    readSync(disk, right, 0, length, at);
    if (left.compare(right, 0, length, 0, length) === 0) continue;
    for (let index = 0; index < length; index += 1) if (left[index] !== right[index]) return at + index;
  }
  return undefined;
}

export interface TableComparison {
  /** Empty when all is well. */
  readonly faults: readonly string[];
  readonly partitions: readonly GptPartition[];
  /** Names of what the deploy added. */
  readonly added: readonly string[];
}

/** Compares the image's partitions with the disk's, and has `sgdisk` verify both copies of the disk's table. */
export async function comparePartitionTables(imageFile: string, diskFile: string): Promise<TableComparison> {
  const comparison = comparePartitions(readGpt(imageFile), readGpt(diskFile));
  const { stdout } = await run('sgdisk', ['--verify', diskFile], { okExitCodes: [0, 1, 2, 3, 4] });
  const problems = stdout.includes('No problems found') ? [] : [`sgdisk --verify: ${stdout.trim()}`];
  return { ...comparison, faults: [...comparison.faults, ...problems] };
}

export function comparePartitions(wanted: readonly GptPartition[], found: readonly GptPartition[]): TableComparison {
  const faults = wanted.flatMap((partition) => {
    const same = found.find((each) => each.number === partition.number);
    if (!same) return [`partition ${partition.number} (${partition.name}) is missing`];
    return (Object.keys(partition) as (keyof GptPartition)[])
      .filter((key) => same[key] !== partition[key])
      .map((key) => `partition ${partition.number}: ${key} is ${same[key]}, in the image ${partition[key]}`);
  });
  const added = found.filter((each) => !wanted.some(({ number }) => number === each.number)).map(({ name }) => name);
  return { faults, partitions: found, added };
}
