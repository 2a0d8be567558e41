import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { loadKernel } from '#agent/kexec/load-system.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import type { Run } from '#shared/process/run.ts';

/** Partition `number` of a disk `/dev/vda`. */
export function partition(
  number: number,
  fsUuid: string,
  fsType = 'ext4',
  fsLabel: string | null = null,
): ProbedPartition {
  return {
    name: `/dev/vda${number}`,
    number,
    sizeBytes: 1,
    fsType,
    fsLabel,
    fsUuid,
    partLabel: null,
    partType: null,
  };
}

/** Puts a file onto a partition of the disk that `disk` is the folder of. */
export async function putFile(
  disk: string,
  device: ProbedPartition,
  path: string,
  content: string | Buffer,
): Promise<void> {
  const file = join(disk, basename(device.name), path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

/** Arguments that kexec was given. */
export interface Loaded {
  readonly args: readonly string[];
  readonly kernel: string;
  readonly initrd: string;
}

/** Mounts are copies of the folders in `disk`; all else that is run succeeds. */
export function machineWith(disk: string): Run {
  return async (command, args) => {
    const [device = '', folder = ''] = args.slice(-2);
    if (command === 'mount') {
      await cp(join(disk, basename(device)), folder, { recursive: true, verbatimSymlinks: true });
    } else if (command === 'umount') {
      await rm(folder, { recursive: true });
      await mkdir(folder);
    }
    return ranWell();
  };
}

/** `/sys` is the folder `sys` beside the partitions. */
export async function loadFrom(disk: string, partitions: readonly ProbedPartition[]): Promise<Loaded> {
  const loads: Loaded[] = [];
  const mounts = machineWith(disk);
  const machine: Run = async (command, args) => {
    if (command === 'kexec') {
      const initrd = args.find((arg) => arg.startsWith('--initrd='))?.slice('--initrd='.length);
      const names = args.map((arg) => arg.replace(/(?<=^|=)\/.*\//, ''));
      const content = initrd === undefined ? '' : await readFile(initrd, 'utf8');
      loads.push({ args: names, kernel: await readFile(args[2] ?? '', 'utf8'), initrd: content });
    }
    return mounts(command, args);
  };
  await loadKernel(machine, partitions, join(disk, 'sys'));
  const [loaded] = loads;
  if (!loaded) throw new Error('nothing was loaded');
  return loaded;
}
