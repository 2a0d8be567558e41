import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const folder = '/sys/fs/pstore';

/** The names of the records that were removed. @throws AppError `storage_error` naming the record. */
export async function erasePstore(run: Run, root: string = folder): Promise<readonly string[]> {
  if (root === folder) await mountPstore(run);
  const removed: string[] = [];
  for (const name of (await readdir(root)).sort()) {
    if (!(await lstat(join(root, name))).isFile()) continue;
    try {
      await unlink(join(root, name)); // the kernel erases the record behind the file
    } catch (cause) {
      throw new AppError('storage_error', `remove ${name} from the persistent store`, { cause });
    }
    removed.push(name);
  }
  return removed;
}

async function mountPstore(run: Run): Promise<void> {
  const { exitCode } = await run('mountpoint', ['-q', folder], { okExitCodes: [0, 1, 32] });
  if (exitCode === 0) return;
  try {
    await run('mount', ['-t', 'pstore', 'pstore', folder]);
  } catch (cause) {
    throw new AppError('not_supported', 'this kernel shows no persistent store', { cause });
  }
}
