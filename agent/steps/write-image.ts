import type { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { checkMountable } from '#agent/image/config-drive.ts';
import { type ExpectedChecksum, resolveChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { fetchSmall } from '#agent/image/fetch/fetch-small.ts';
import { authorizationHeadersFor, checkSupported, requireNoLogin } from '#agent/image/image-info.ts';
import { isPartitionImage, readRequestedPartitions } from '#agent/image/requested-partitions.ts';
import { fetchConfigDrive, writeConfigDrive } from '#agent/image/write-config-drive.ts';
import { writePartitionImage } from '#agent/image/write-partition-image.ts';
import { writeWholeDisk } from '#agent/image/write-whole-disk.ts';
import { requiredFormat } from '#agent/image-means/image-policy.ts';
import { digestHead, type WrittenImage, writtenText } from '#agent/image-means/written-image.ts';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { assembleForNode } from '#agent/raid/run-raid-step.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { findUnmetEntries } from '#shared/disks/skip-list.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';
import { WriteImageArgs } from '#shared/in-band/step-args.ts';
import { defineStep } from '#shared/steps/define-step.ts';

const maxChecksumFileBytes = 4 * 1024 * 1024;

/** Streams the image to the root device, and the config drive to its partition (agent-protocol.md §6). */
export const writeImageStep = defineStep<AgentContext, z.infer<typeof WriteImageArgs>>({
  interface: 'deploy',
  step: 'write_image',
  priorities: { deploy: 0, service: 0 },
  destroys: 'root disk',
  description: 'Writes an image and the config drive to the root device, verified while it streams',
  args: WriteImageArgs,
  run: async (context, { image_info: asked, configdrive }) => {
    checkSupported(asked);
    const info = { ...asked, disk_format: requiredFormat(asked.disk_format, context.imagePolicy ?? {}) };
    const { signal } = context;
    const rules = context.imagePolicy?.fetchFrom;
    if (configdrive) requireNoLogin(configdrive, 'configdrive');
    const fetchText = async (url: string): Promise<string> => {
      const headers = authorizationHeadersFor(url, info);
      return (await fetchSmall(url, 'the checksum file', maxChecksumFileBytes, { signal, headers, rules })).toString();
    };
    const checksum = await resolveChecksum(info, fetchText);
    // a config drive that can't be read must not cost the disk its content
    const drive = configdrive ? await fetchConfigDrive(configdrive, { signal, rules }) : undefined;
    context.reportProgress({ phase: 'choosing root device' });
    await assembleForNode(context.run, context.node);
    await waitForUdev(context.run);
    const { run, node } = context;
    const devices = await addRestingArrays(run, node.properties, await listBlockDevices(run));
    for (const warning of findUnmetEntries(context.node.properties, devices)) context.log.warn(warning);
    const device = chooseRootDevice(devices, context.node);
    if (drive) checkMountable(drive, device);
    const { image, verb } = isPartitionImage(info)
      ? await writePartitions(context, device, info, checksum, drive)
      : await writeDisk(context, device, info, checksum, drive);
    return { kind: 'done', output: writtenText(image, verb) };
  },
});

interface Written {
  readonly image: WrittenImage;
  readonly verb: 'written to' | 'already present on';
}

async function writeDisk(
  context: AgentContext,
  device: BlockDevice,
  info: ImageInfo,
  checksum: ExpectedChecksum,
  drive: Buffer | undefined,
): Promise<Written> {
  const bootMode = info.deploy_boot_mode ?? (await readBootMode());
  // only PCs have a BIOS; on RAID GRUB is installed afterwards
  const needsBootCode = bootMode === 'bios' && process.arch === 'x64' && !device.type.startsWith('raid');
  const use = { bootMode, drive, needsBootCode };
  const write = (): Promise<WrittenImage> => writeWholeDisk(context, device, info, checksum, {}, use);
  const written = await writeOnce(context, device, info, checksum, write);
  if (drive === undefined) return written;
  await writeConfigDrive(context, device.name, drive);
  // its partition changed the table
  context.writtenImage.current = { ...written.image, headSha256: await digestHead(device.name) };
  return written;
}

/** Always written again: with the same image, the partitions around it may be wanted otherwise. */
async function writePartitions(
  context: AgentContext,
  device: BlockDevice,
  info: ImageInfo,
  checksum: ExpectedChecksum,
  drive: Buffer | undefined,
): Promise<Written> {
  const requested = readRequestedPartitions(info, drive !== undefined, await readBootMode());
  context.writtenImage.current = undefined;
  const image = await writePartitionImage(context, device, { info, checksum, requested, drive });
  context.writtenImage.current = image;
  return { image, verb: 'written to' };
}

/** The same image on the same disk is not written twice in one boot (agent-protocol.md §6.2). */
async function writeOnce(
  { writtenImage, log }: AgentContext,
  device: BlockDevice,
  info: ImageInfo,
  checksum: ExpectedChecksum,
  write: () => Promise<WrittenImage>,
): Promise<Written> {
  const last = writtenImage.current;
  const isSame = last?.imageId === info.id && last.checksum === checksum.hex && last.device === device.name;
  if (isSame && last.headOf === undefined) {
    if ((await digestHead(device.name)) === last.headSha256) return { image: last, verb: 'already present on' };
    log.warn({ device: device.name }, 'the disk has changed since the image was written: writing it again');
  }
  writtenImage.current = undefined;
  const image = await write();
  writtenImage.current = image;
  return { image, verb: 'written to' };
}
