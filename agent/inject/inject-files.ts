import { chmod, constants, lstat, mkdir, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { fileContent } from '#agent/inject/file-content.ts';
import { findPartition, type ImageTarget } from '#agent/inject/find-partition.ts';
import { findMountedPlace } from '#agent/inject/mounted-place.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { assembleForNode } from '#agent/raid/run-raid-step.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { withoutProtected } from '#shared/disks/skip-list.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { type InjectedFile } from '#shared/in-band/injected-file.ts';

/** One file of the step's result. */
export interface PlacedFile {
  readonly path: string;
  readonly device: string;
  readonly done: 'written' | 'removed';
  readonly bytes?: number;
}

/**
 * Puts files on the disk that the image was written to, one after the other.
 * @param verify whether servers' certificates are checked
 * @throws AppError naming the file; those before it are in place.
 */
export async function injectFiles(
  context: AgentContext,
  files: readonly InjectedFile[],
  verify: boolean,
): Promise<readonly PlacedFile[]> {
  if (files.length === 0) return [];
  await assembleForNode(context.run, context.node);
  await waitForUdev(context.run);
  const { run, node } = context;
  const devices = await addRestingArrays(run, node.properties, await listBlockDevices(run));
  const touchable = withoutProtected(context.node.properties, devices);
  const disk = await readTarget(context, devices);
  const placed: PlacedFile[] = [];
  for (const file of files) {
    context.reportProgress({ phase: `injecting ${file.path}`.slice(0, 100) });
    try {
      placed.push(await injectFile(context, file, disk, touchable, verify));
    } catch (cause) {
      throw new AppError(errorCode(cause), `inject ${file.path}`, { cause });
    }
  }
  return placed;
}

/** The disk of this boot's image, else the one that would get it. */
async function readTarget(context: AgentContext, devices: readonly BlockDevice[]): Promise<ImageTarget> {
  const name = context.writtenImage.current?.device ?? chooseRootDevice(devices, context.node).name;
  return { name, partitions: await probePartitions(context.run, name) };
}

async function injectFile(
  context: AgentContext,
  file: InjectedFile,
  disk: ImageTarget,
  devices: readonly BlockDevice[],
  verify: boolean,
): Promise<PlacedFile> {
  const { run, signal, log } = context;
  const rules = context.imagePolicy?.fetchFrom;
  // before anything is mounted: a download may take a while, and fail
  const values = { node: context.node, ports: context.ports ?? [] };
  const content = file.deleted
    ? undefined
    : await fileContent({ path: file.path, content: file.content ?? '' }, values, { verify, signal, rules });
  const found = await findPartition(run, file, disk, devices);
  const { name: device, subvolume, path } = await findMountedPlace(run, file, found, disk);
  await withMounted(run, device, mountHarmless('rw', subvolume), (root) =>
    content === undefined ? removeFile(root, path) : placeFile(root, { ...file, path }, content),
  );
  log.info({ path: file.path, device, subvolume, bytes: content?.length }, content ? 'file written' : 'file removed');
  const done = content === undefined ? 'removed' : 'written';
  return { path: file.path, device, done, ...(content ? { bytes: content.length } : {}) };
}

type Attributes = Pick<InjectedFile, 'path' | 'mode' | 'dirmode' | 'owner' | 'group'>;

/**
 * Writes a file into a file system mounted at `root`; folders that are missing are made.
 * @throws AppError `invalid_argument` when something else is there, `storage_error`.
 */
export async function placeFile(root: string, file: Attributes, content: Buffer): Promise<void> {
  const path = await resolveInside(root, file.path);
  try {
    await makeFolder(dirname(path), file.dirmode);
    await requirePlainFile(path, file.path);
    // NOFOLLOW: the links were followed above, inside the root
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    const handle = await open(path, flags, 0o644);
    try {
      await handle.writeFile(content);
      // -1 leaves it as it is
      if (file.owner !== undefined || file.group !== undefined) await handle.chown(file.owner ?? -1, file.group ?? -1);
      // the umask has no say in what the operator asked for, nor has an older file
      if (file.mode !== undefined) await handle.chmod(file.mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('storage_error', `write ${file.path}`, { cause });
  }
}

/** Removes a file, or the link that stands for it; one that is not there is no error. */
export async function removeFile(root: string, path: string): Promise<void> {
  const place = await resolveInside(root, path, { keepLast: true });
  try {
    await unlink(place);
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return;
    throw new AppError('storage_error', `remove ${path}`, { cause });
  }
}

async function makeFolder(folder: string, mode: number | undefined): Promise<void> {
  const made = await mkdir(folder, { recursive: true });
  if (made !== undefined && mode !== undefined) await chmod(folder, mode);
}

/** A pipe would block anyone who opens it, a device node would be one of this machine. */
async function requirePlainFile(path: string, shown: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there && !there.isFile()) {
    throw new AppError('invalid_argument', `${shown} is ${there.isDirectory() ? 'a folder' : 'no plain file'} there`);
  }
}
