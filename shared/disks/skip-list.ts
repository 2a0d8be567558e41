import { z } from 'zod';
import type { Disk } from '#shared/disks/disk.ts';
import { mismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';

const source = 'properties.skip_block_devices';
const SkipList = z.array(z.record(z.string(), z.unknown())).nullish();

/**
 * Whether the operator asked to leave a disk alone: `properties.skip_block_devices`, a list of hint objects
 * (agent-protocol.md §6.6). Missing: `volume_name`, by which Ironic's agent leaves RAID volumes alone. A list that can't
 * be understood stops everything: a wipe can't be undone.
 * @throws AppError `invalid_argument` or `not_supported` naming the entry.
 */
export function readSkipList(properties: Readonly<Record<string, unknown>>): (disk: Disk) => boolean {
  const parsed = SkipList.safeParse(properties['skip_block_devices']);
  if (!parsed.success) {
    throw new AppError('invalid_argument', `${source} must be a list of objects of root device hints`);
  }
  const entries = (parsed.data ?? []).map((hints, index) => {
    if ('volume_name' in hints) {
      throw new AppError(
        'not_supported',
        `${source}[${index}]: this agent can't leave out RAID volumes by volume_name`,
      );
    }
    return parseHints(hints, `${source}[${index}]`);
  });
  return (disk) => entries.some((hints) => mismatches(disk, hints).length === 0);
}
