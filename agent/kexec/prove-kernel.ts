import type { WholeDiskSystem } from '#agent/boot/loader-kind.ts';
import { isContainer, type SeekFileSystem, seekFileSystem } from '#agent/boot/seek-file-system.ts';
import {
  type FoundChoice,
  findBootChoice,
  findLostRoot,
  isReadable,
  partitionOf,
} from '#agent/kexec/find-boot-choice.ts';
import { mountForGrub } from '#agent/kexec/grub-view.ts';
import { sizeOfImageFile } from '#agent/kexec/read-image-file.ts';
import { findDoubt } from '#agent/kexec/which-configuration.ts';
import { withMounted } from '#agent/storage/file-systems/mount.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Proves that the loader of a whole-disk image finds its kernel: its configuration is read as the loader reads it, by GRUB's
 * own code too, and the files that it names have to be there. Only what is certain is refused, which configuration it reads
 * included: images have loaders, file systems and scripts that nobody here knows, and newer GRUBs.
 * @param sysRoot differs only in tests, as `seek` does
 * @returns warnings: what isn't proved, and why
 * @throws AppError `not_found` naming the file, or the file system, that the loader would not find
 */
export async function proveKernel(
  run: Run,
  system: WholeDiskSystem,
  sysRoot = '/sys',
  seek: SeekFileSystem = seekFileSystem,
): Promise<readonly string[]> {
  const { partitions, loader, configured } = system;
  let choice: FoundChoice;
  try {
    choice = await findBootChoice(run, partitions, sysRoot);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'aborted') throw error;
    return [unproved(errorChain(error))];
  }
  if (choice.loader !== loader) {
    const started = loader ?? 'a boot loader that is not known';
    return [unproved(`the machine starts ${started}, and the configuration that was found is ${choice.loader}'s`)];
  }
  const doubt = choice.loader === 'GRUB' ? await findDoubt(run, system, choice, seek) : undefined;
  if (doubt?.isFatal) throw new AppError('not_found', `the image does not boot: ${doubt.reason}`);
  // of a BIOS's it never is certain: said where it matters
  if (doubt !== undefined && configured) return [unproved(doubt.reason)];
  for (const { device, path } of [choice.kernel, ...choice.initrds]) {
    let missing: AppError | undefined;
    try {
      const partition = partitionOf(device, partitions, choice.partition);
      if (!isReadable(partition)) return [unproved(`${path} is on ${partition.name} (${String(partition.fsType)})`)];
      missing = await findMissing(run, partition, path);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'aborted') throw error;
      return [unproved(errorChain(error))];
    }
    if (missing === undefined) continue;
    const what = `${choice.loader} would start "${choice.title}"`;
    if (choice.hasFallback) return [unproved(`${what}, or another entry if that fails: ${errorChain(missing)}`)];
    if (doubt !== undefined) return [unproved(`${doubt.reason}; by /${choice.file} ${what}: ${errorChain(missing)}`)];
    throw new AppError('not_found', `the image does not boot: ${what}`, { cause: missing });
  }
  const unread = choice.loader === 'GRUB' ? await proveReadable(run, choice) : [];
  const lost = findLostRoot(choice.commandLine, partitions);
  // a root file system in a volume that is put together later has its UUID there
  if (lost === undefined || partitions.some(({ fsType }) => isContainer(fsType))) return unread;
  return [...unread, `it is not proved that the kernel finds its root: ${lost} is no file system of the written disk`];
}

async function findMissing(run: Run, partition: ProbedPartition, path: string): Promise<AppError | undefined> {
  return withMounted(run, partition.name, mountForGrub(partition), async (root) => {
    try {
      if ((await sizeOfImageFile(root, path)) > 0) return undefined;
      return new AppError('not_found', `${path} on ${partition.name} is empty`);
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return error;
      throw error;
    }
  });
}

/** The ramdisk's GRUB may be older than the image's: where it doesn't read the file system, that is no proof of anything. */
async function proveReadable(run: Run, { partition, file }: FoundChoice): Promise<readonly string[]> {
  await run('blockdev', ['--flushbufs', partition.name]);
  try {
    await run('grub-fstest', [partition.name, 'cat', `(loop0)/${file}`], { onStdoutLine: () => undefined });
    return [];
  } catch (error) {
    if (errorCode(error) !== 'command_failed') throw error;
    const fsType = String(partition.fsType);
    return [unproved(`the ramdisk's GRUB can't read /${file} on ${partition.name} (${fsType}): ${errorChain(error)}`)];
  }
}

function unproved(reason: string): string {
  return `it is not proved that the image's boot loader finds its kernel: ${reason}`;
}
