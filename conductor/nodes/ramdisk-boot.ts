import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodesConfig } from '#conductor/nodes/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * How a machine that is on comes into the ramdisk: through its firmware, or by kexec from a system that cooperates.
 * `instance_info.ramdisk_boot`, which is for this instance, over `driver_info.ramdisk_boot`.
 * @throws AppError `invalid_argument` for another value
 */
export function ramdiskBootOf({ instanceInfo, driverInfo }: Pick<NodeRow, 'instanceInfo' | 'driverInfo'>) {
  for (const [place, document] of [
    ['instance_info', instanceInfo],
    ['driver_info', driverInfo],
  ] as const) {
    const value = document['ramdisk_boot'] ?? undefined;
    if (value === 'power' || value === 'kexec') return value;
    if (value !== undefined) throw new AppError('invalid_argument', `${place}.ramdisk_boot: it must be power or kexec`);
  }
  return 'power';
}

/**
 * Whether the node keeps its ramdisk running between flows: the conductor's setting, or `driver_info.fast_track`.
 * @throws AppError `invalid_argument` for a value that is neither true nor false.
 */
export function isFastTracked(config: Pick<NodesConfig, 'fastTrack'>, node: Pick<NodeRow, 'driverInfo'>): boolean {
  const own = node.driverInfo['fast_track'];
  if (own === undefined || own === null) return config.fastTrack;
  if (own === true || own === 'true') return true;
  if (own === false || own === 'false') return false;
  throw new AppError('invalid_argument', 'driver_info.fast_track: it must be true or false');
}
