import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const Listing = z.object({ signatures: z.array(z.object({ type: z.string() })) });

/**
 * What a disk or partition is known by, as `wipefs` names it, each once: `ext4`, `LVM2_member`, `gpt`, `PMBR`. Unlike
 * `blkid` it tells all of them where several contradict each other. Changes nothing.
 * @throws AppError `command_failed` when it can't be read; `storage_error`
 */
export async function readSignatures(run: Run, device: string): Promise<readonly string[]> {
  const { stdout } = await run('wipefs', ['--json', device]);
  if (stdout.trim() === '') return [];
  try {
    return [...new Set(Listing.parse(JSON.parse(stdout)).signatures.map(({ type }) => type))];
  } catch (cause) {
    throw new AppError('storage_error', `parse what wipefs reports for ${device}`, { cause });
  }
}
