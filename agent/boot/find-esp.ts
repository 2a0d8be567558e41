import type { ProbedPartition } from '#agent/storage/block-device.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The type of an EFI system partition in a GPT and in an MBR. */
const espTypes: ReadonlySet<string> = new Set(['c12a7328-f81f-11d2-ba4b-00a0c93ec93b', '0xef']);

/**
 * The EFI system partition of a disk.
 * @throws AppError `not_found` naming the partitions that are there.
 */
export function findEsp(deviceName: string, partitions: readonly ProbedPartition[]): ProbedPartition {
  const esp = partitions.find(({ partType }) => partType !== null && espTypes.has(partType));
  if (esp) return esp;
  const there = partitions.map(({ name, partType }) => `${name} (type ${partType ?? 'unknown'})`);
  throw new AppError(
    'not_found',
    `disk ${deviceName} has no EFI system partition: it has ${there.join(', ') || 'no partitions'}`,
  );
}
