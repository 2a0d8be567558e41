import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodesConfig } from '#conductor/nodes/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
