import type { AgentContext } from '#agent/context.ts';
import { assembleForNode } from '#agent/raid/run-raid-step.ts';
import { type BlockDevice, listBlockDevices, type ProbedPartition } from '#agent/storage/lsblk.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';

/** The disk, or the array, that the image is on. */
export interface DeployedDisk {
  readonly device: BlockDevice;
  /** The disks that firmware knows it by. */
  readonly disks: readonly BlockDevice[];
  readonly isRaid: boolean;
  readonly partitions: readonly ProbedPartition[];
}

/**
 * The disk of this boot's image; after a restart of the agent, or a reboot, the one that the hints choose.
 * @throws AppError `not_found` naming the disks, where the hints choose none
 */
export async function findDeployedDisk({
  run,
  node,
  writtenImage,
}: Pick<AgentContext, 'run' | 'node' | 'writtenImage'>): Promise<DeployedDisk> {
  await assembleForNode(run, node);
  await waitForUdev(run);
  const devices = await addRestingArrays(run, node.properties, await listBlockDevices(run));
  const name = writtenImage.current?.device;
  const device = devices.find((each) => each.name === name) ?? chooseRootDevice(devices, node);
  const disks = bootDisksOf(device, devices);
  return { device, disks, isRaid: disks[0] !== device, partitions: await probePartitions(run, device.name) };
}

/** Lists what of `/dev` belongs to it: on RAID the members too. */
export function devicesOf({ device, disks, partitions }: DeployedDisk): readonly string[] {
  const members = disks.flatMap((disk) => [disk, ...disk.partitions]);
  return [device, ...partitions, ...members].map(({ name }) => name);
}

/** The disks that the firmware can boot `device` from: itself, or for an array every disk with a member of it. */
export function bootDisksOf(device: BlockDevice, all: readonly BlockDevice[]): readonly BlockDevice[] {
  if (!device.type.startsWith('raid')) return [device];
  return all.filter((each) => each.type === 'disk' && each.holders.includes(device.name));
}
