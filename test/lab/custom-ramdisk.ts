import { join } from 'node:path';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { run } from '#shared/process/run.ts';

/**
 * A ramdisk with steps of one's own, beside the ordinary one; seconds, since only its small second archive is made.
 * @param name below `build/`; each set of directories has its own
 * @param extra directories as `docs/custom-steps.md` describes them
 * @returns the directory, for `ramdiskDirectory`
 */
export async function buildCustomRamdisk(
  name: string,
  extra: readonly string[],
  say: (line: string) => void,
): Promise<string> {
  const output = join('build', name);
  await buildRamdisk({ run, say, force: false, refresh: false }, { output, extra, compression: 'quick' });
  return output;
}
