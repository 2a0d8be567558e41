import type { Situation } from '#shared/errors/fault-codes.ts';

/** Errors by which Linux reports that a disk itself did not do it, or is gone (errno-base.h, `blk_status_to_errno`). */
const ofDisk: ReadonlySet<string> = new Set(['EIO', 'EREMOTEIO', 'EILSEQ', 'ENODATA', 'ETIMEDOUT', 'ENXIO', 'ENODEV']);

/** Gives the situation of a failed read or write of a disk, for the options of the error that is made of it. */
export function diskFault(
  cause: unknown,
  disk: string,
): { readonly situation: Situation | undefined; readonly subject: string } {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return { situation: code === 'EBUSY' ? 'disk_in_use' : ofDisk.has(code) ? 'disk_failing' : undefined, subject: disk };
}
