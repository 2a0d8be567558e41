import type { AgentContext } from '#agent/context.ts';
import { fileContent } from '#agent/inject/file-content.ts';
import { findPartition, type TargetDisk } from '#agent/inject/find-partition.ts';
import type { InjectedFile } from '#agent/inject/injected-file.ts';
import { mountHarmless } from '#agent/inject/mount-harmless.ts';
import { placeFile, removeFile } from '#agent/inject/place-file.ts';
import { assembleForNode } from '#agent/raid/assemble-for-node.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { withMounted } from '#agent/storage/mount.ts';
import { probePartitions } from '#agent/storage/probe-partitions.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { chooseRootDevice, readSkipList } from '#shared/disks/choose-root-device.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

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
  const devices = await listBlockDevices(context.run);
  const isSkipped = readSkipList(context.node.properties);
  const disk = await readTarget(context, devices);
  const placed: PlacedFile[] = [];
  for (const file of files) {
    context.reportProgress({ phase: `injecting ${file.path}`.slice(0, 100) });
    try {
      placed.push(
        await injectFile(
          context,
          file,
          disk,
          devices.filter((device) => !isSkipped(device)),
          verify,
        ),
      );
    } catch (cause) {
      throw new AppError(errorCode(cause), `inject ${file.path}`, { cause });
    }
  }
  return placed;
}

/** The disk of this boot's image, else the one that would get it. */
async function readTarget(context: AgentContext, devices: readonly BlockDevice[]): Promise<TargetDisk> {
  const name = context.writtenImage.current?.device ?? chooseRootDevice(devices, context.node).name;
  return { name, partitions: await probePartitions(context.run, name) };
}

async function injectFile(
  context: AgentContext,
  file: InjectedFile,
  disk: TargetDisk,
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
  const device = await findPartition(run, file, disk, devices);
  await withMounted(run, device, mountHarmless('rw'), (root) =>
    content === undefined ? removeFile(root, file.path) : placeFile(root, file, content),
  );
  log.info({ path: file.path, device, bytes: content?.length }, content ? 'file written' : 'file removed');
  const done = content === undefined ? 'removed' : 'written';
  return { path: file.path, device, done, ...(content ? { bytes: content.length } : {}) };
}
