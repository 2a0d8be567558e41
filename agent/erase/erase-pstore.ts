import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const folder = '/sys/fs/pstore';

/**
 * Removes what crashed kernels have left in the machine's memory that is not volatile.
 * @returns the names of the records
 * @throws AppError `storage_error` naming the record.
 */
export async function erasePstore(
  run: Run,
  { root = folder, variables = efiVariables }: { readonly root?: string; readonly variables?: string } = {},
): Promise<readonly string[]> {
  const dumps = await eraseEfiDumps(variables);
  if (root === folder) await mountPstore(run);
  const names = await readdir(root, { withFileTypes: true });
  return [
    ...dumps,
    ...(await removeAll(
      root,
      names.filter((each) => each.isFile()).map(({ name }) => name),
    )),
  ];
}

const efiVariables = '/sys/firmware/efi/efivars';

/** `dump-type0-1-1-1700000000-C-` and this vendor's GUID: written by Linux's efi-pstore. */
const dump = /^dump-type.*-cfc8fc79-be2e-4ddc-97f0-9f98bfe282a0$/;

/**
 * Removes crash dumps from the firmware's variables. The ramdisk has no efi-pstore, so they don't show in /sys/fs/pstore.
 * @param variables differs only in tests
 * @returns the names of the variables @throws AppError `storage_error` naming the variable.
 */
export async function eraseEfiDumps(variables = efiVariables): Promise<readonly string[]> {
  const names = await readdir(variables).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new AppError('storage_error', "list the firmware's variables", { cause: error });
  });
  return removeAll(
    variables,
    names.filter((name) => dump.test(name)),
  );
}

async function removeAll(root: string, names: readonly string[]): Promise<readonly string[]> {
  const sorted = names.toSorted();
  for (const name of sorted) {
    try {
      await unlink(join(root, name)); // the kernel erases the record behind the file
    } catch (cause) {
      throw new AppError('storage_error', `remove ${name} from the persistent store`, { cause });
    }
  }
  return sorted;
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
