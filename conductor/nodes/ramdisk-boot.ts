import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
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
