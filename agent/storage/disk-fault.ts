import { existsSync } from 'node:fs';
import type { Situation } from '#shared/errors/fault-codes.ts';

/** Errors by which Linux reports that a disk itself did not do it (errno-base.h, `blk_status_to_errno`). */
const ofDisk: ReadonlySet<string> = new Set(['EIO', 'EREMOTEIO', 'EILSEQ', 'ENODATA', 'ETIMEDOUT']);
/** Errors by which it reports that no disk is there, or none any more. */
const ofNoDisk: ReadonlySet<string> = new Set(['ENOENT', 'ENXIO', 'ENODEV']);

/**
 * Gives the situation of a failed read or write of a disk, for the options of the error that is made of it.
 * @param disk its path, `/dev/sda`: one that has gone from there is not failing
 */
export function diskFault(
  cause: unknown,
  disk: string,
): { readonly situation: Situation | undefined; readonly subject: string } {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return { situation: situationOf(code, disk), subject: disk };
}

function situationOf(code: string, disk: string): Situation | undefined {
  if (code === 'EBUSY') return 'disk_in_use';
  if (ofNoDisk.has(code)) return 'disk_gone';
  if (!ofDisk.has(code)) return undefined;
  return existsSync(disk) ? 'disk_failing' : 'disk_gone';
}
